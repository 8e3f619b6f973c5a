import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, temporaryFolder } from '../../../test/support/local-server';
import { watchFolder } from '../watch-folder';

let stop: (() => void) | undefined;
afterEach(() => stop?.());
afterAll(cleanUp);

interface Watched {
  folder: string;
  /** Resolves with the file of the next call. */
  next: () => Promise<string>;
}

function startWatching(): Watched {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'inner'));
  writeFileSync(join(folder, 'inner', 'a.ts'), '1');
  const files: string[] = [];
  let notify: () => void = () => undefined;
  const { close } = watchFolder(folder, (file) => {
    files.push(file);
    notify();
    return Promise.resolve();
  });
  stop = close;
  const next = async (): Promise<string> => {
    while (files.length === 0) await new Promise<void>((resolve) => (notify = resolve));
    return files.shift() ?? '';
  };
  return { folder, next };
}

test('a file is noticed each time an editor replaces it by a rename, and when it is written after that', async () => {
  const { folder, next } = startWatching();
  const file = join(folder, 'inner', 'a.ts');
  for (const text of ['2', '3']) {
    writeFileSync(join(folder, 'inner', '.a.swp'), text);
    renameSync(join(folder, 'inner', '.a.swp'), file);
    expect(await next()).toContain(join(folder, 'inner'));
  }
  writeFileSync(file, '4');
  // The renames may still be reported.
  while ((await next()) !== file);
});

test('a file in a new folder is noticed', async () => {
  const { folder, next } = startWatching();
  mkdirSync(join(folder, 'new'));
  await next();
  writeFileSync(join(folder, 'new', 'b.ts'), '1');
  expect(await next()).toBe(join(folder, 'new', 'b.ts'));
});

test('several saves at once lead to one call, and saves during a call to one more', async () => {
  const folder = temporaryFolder();
  let calls = 0;
  let finish: () => void = () => undefined;
  let entered: () => void = () => undefined;
  const enter = () => new Promise<void>((resolve) => (entered = resolve));
  const { close } = watchFolder(folder, async () => {
    calls++;
    entered();
    await new Promise<void>((resolve) => (finish = resolve));
  });
  stop = close;
  const first = enter();
  for (const name of ['a', 'b', 'c']) writeFileSync(join(folder, name), '');
  await first;
  const second = enter();
  for (const name of ['d', 'e']) writeFileSync(join(folder, name), '');
  finish();
  await second;
  finish();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(calls).toBe(2);
});
