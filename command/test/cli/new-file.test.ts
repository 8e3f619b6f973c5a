import fs, { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { CommandError } from '../../cli/errors';
import { writeNewFile } from '../../cli/new-file';

const root = mkdtempSync(join(tmpdir(), 'new-file-'));
afterAll(() => rmSync(root, { recursive: true }));

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(root, 'case-'));
  file = join(folder, 'prices.csv');
});

/** Yields 1,000 lines, with a pause every 100 lines, so that writers overlap. */
async function* repeat(line: string): AsyncGenerator<string> {
  for (let i = 0; i < 1_000; i++) {
    yield `${line}\n`;
    if (i % 100 === 0) await setImmediate();
  }
}

const refused = (reason: string) =>
  new CommandError(`${JSON.stringify(file)} cannot be written: ${reason}. Correct this, or name another file.`);

test('of two writers that create one file at once, one writes all of it, and the other says that the file exists', async () => {
  const results = await Promise.allSettled([writeNewFile(file, repeat('a')), writeNewFile(file, repeat('b'))]);
  const failed = results.filter((result) => result.status === 'rejected');
  expect(failed.map(({ reason }) => reason as unknown)).toEqual([refused('the file already exists')]);
  expect(readFileSync(file, 'utf8')).toMatch(/^((a\n){1000}|(b\n){1000})$/);
  expect(readdirSync(folder)).toEqual(['prices.csv']);
});

test('the command does not replace a file that another program creates while the command writes', async () => {
  const content = function* () {
    yield 'ours';
    writeFileSync(file, 'theirs');
  };
  await expect(writeNewFile(file, content())).rejects.toEqual(refused('the file already exists'));
  expect(readFileSync(file, 'utf8')).toBe('theirs');
  expect(readdirSync(folder)).toEqual(['prices.csv']);
});

test('a link to a file that does not exist stays as it is', async () => {
  symlinkSync(join(folder, 'missing'), file);
  await expect(writeNewFile(file, ['ours'])).rejects.toEqual(refused('the file already exists'));
  expect(readdirSync(folder)).toEqual(['prices.csv']);
});

test('an error from the content is thrown, and leaves no file, even if the file is still being opened', async () => {
  const error = new Error('Firestore failed');
  const content = function* () {
    yield 'a';
    throw error;
  };
  const { open } = fs;
  const opening = jest.spyOn(fs, 'open').mockImplementation((...args) => void setTimeout(() => open(...args), 50));
  await expect(writeNewFile(file, content())).rejects.toBe(error);
  opening.mockRestore();
  await delay(100);
  expect(readdirSync(folder)).toEqual([]);
});

test('the error names the actual reason for a failure', async () => {
  file = join(folder, 'missing', 'prices.csv');
  await expect(writeNewFile(file, ['a'])).rejects.toEqual(refused('its folder does not exist'));
  writeFileSync(join(folder, 'file'), '');
  file = join(folder, 'file', 'prices.csv');
  await expect(writeNewFile(file, ['a'])).rejects.toThrow('cannot be written: ENOTDIR: not a directory, ');
  file = join(folder, 'a'.repeat(300));
  await expect(writeNewFile(file, ['a'])).rejects.toThrow('cannot be written: ENAMETOOLONG: name too long, ');
  mkdirSync((file = join(folder, 'folder')));
  await expect(writeNewFile(file, ['a'])).rejects.toEqual(refused('the file already exists'));
  expect(readdirSync(folder).sort()).toEqual(['file', 'folder']);
});
