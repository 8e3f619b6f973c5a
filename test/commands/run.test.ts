import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCheckout, editFile } from '../support/checkout';
import { cleanUp } from '../support/local-server';
import { runProgram } from '../support/programs';

/** `scripts/run.mjs`, by which the commands of this repository run TypeScript. */

afterAll(cleanUp);

const folder = createCheckout();
const BUNDLE = join(folder, 'functions/.dev/programs/scripts-hello.cjs');
const COMMAND = ['--import', './scripts/preflight.mjs', 'scripts/run.mjs', 'scripts/hello.ts'];

const run = (...args: string[]) =>
  runProgram(process.execPath, [...COMMAND, ...args], {
    cwd: folder,
    env: { NODE_DEBUG_NATIVE: 'compile_cache' },
  });

const getBundleTime = () => statSync(BUNDLE).ctimeMs;

beforeAll(() => {
  writeFileSync(join(folder, 'scripts/greeting.ts'), "export const greeting: string = 'Hello';\n");
  writeFileSync(
    join(folder, 'scripts/hello.ts'),
    `import { greeting } from './greeting';
    const words: string[] = process.argv.slice(2);
    console.log(greeting, ...words);
    if (words[0] === 'throw') throw new Error('at line 4');`,
  );
});

test('bundles a program once, and again when a file that it imports has changed', async () => {
  expect((await run('world')).stdout).toBe('Hello world\n');
  const bundledAt = getBundleTime();
  expect((await run('again')).stdout).toBe('Hello again\n');
  expect(getBundleTime()).toBe(bundledAt);

  editFile(join(folder, 'scripts/greeting.ts'), 'Hello', 'Bye');
  expect((await run()).stdout).toBe('Bye\n');
  expect(getBundleTime()).not.toBe(bundledAt);
});

test('takes the code of a bundle that it has run before from the compile cache', async () => {
  await run();
  expect((await run()).stderr).toMatch(/cache for CommonJS \S+scripts-hello\.cjs was accepted/);
});

test('names the source file and line of an error', async () => {
  await expect(run('throw')).rejects.toMatchObject({ stderr: expect.stringContaining('scripts/hello.ts:4') as string });
});

test('runs a program in a checkout that cannot be written', async () => {
  rmSync(join(folder, 'functions/.dev'), { recursive: true });
  writeFileSync(join(folder, 'functions/.dev'), 'not a folder');
  const { stdout } = await run('read-only');
  rmSync(join(folder, 'functions/.dev'));
  expect(stdout).toBe('Bye read-only\n');
});

test('ends with the errors of a program that cannot be bundled', async () => {
  mkdirSync(join(folder, 'functions/.dev'), { recursive: true });
  editFile(join(folder, 'scripts/greeting.ts'), 'export const', 'export const =');
  await expect(run()).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('scripts/greeting.ts:1') as string,
  });
  expect(existsSync(BUNDLE)).toBe(false);
});
