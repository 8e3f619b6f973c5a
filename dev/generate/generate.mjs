import { readFile, writeFile } from 'node:fs/promises';
import { readArguments } from '../program.mjs';

const USAGE = `Usage: npm run generate [-- --check]

Writes every file that is generated from the code, or has a generated part, and prints the names of those that have changed.

--check  writes nothing, and fails if a file is out of date`;

/** Each generator returns texts by their paths. It is loaded only when it runs, so that --help is fast. */
const GENERATORS = [
  // Runs first, because the other generators import the files that it writes, and these may have the markers of a merge conflict.
  async () => (await import('./messages.mjs')).generateMessages(),
  async () => (await import('./openapi/generate')).generateDescription(),
  async () => (await import('./openapi/lists')).generateLists(),
  async () => (await import('./openapi/reference')).generateReference(),
];

const { check = false } = readArguments(USAGE, { options: { check: { type: 'boolean' } } }).values;
await generate(check);

async function generate(isCheck) {
  for (const listTexts of GENERATORS) {
    try {
      await update(await listTexts(), isCheck);
    } catch (error) {
      console.error(error.message);
      process.exitCode = 1;
    }
  }
}

async function update(texts, isCheck) {
  for (const [file, text] of Object.entries(texts)) {
    if ((await readFile(file, 'utf8').catch(() => undefined)) === text) continue;
    if (isCheck) throw new Error(`${file} is out of date. To update it, run: npm run generate`);
    await writeFile(file, text);
    console.log(`Written: ${file}`);
  }
}
