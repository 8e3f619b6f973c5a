import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { readArguments } from './arguments.mjs';

const USAGE = `Usage: npm run generate [-- --check]

Writes all that is generated from the code, and prints what it has written.

--check  writes nothing, and fails if something is out of date`;

/** Each generator returns texts by their paths. It is loaded when it runs, so that --help takes no seconds. */
const GENERATORS = [
  async () => (await import('./openapi/generate')).generateDescription(),
  async () => (await import('./layers.mjs')).generateLayers(),
  async () => (await import('./messages.mjs')).generateMessages(),
];

/** Writes conformance.md. A test checks that page in place of --check, because this replays 80,000 calls. */
const CONFORMANCE = ['--import', 'tsx', 'packages/firestore-local/test/conformance/compare.ts'];

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
  if (isCheck) return;
  const { status } = spawnSync(process.execPath, CONFORMANCE, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

async function update(texts, isCheck) {
  for (const [file, text] of Object.entries(texts)) {
    if ((await readFile(file, 'utf8').catch(() => undefined)) === text) continue;
    if (isCheck) throw new Error(`${file} is out of date. To write it: npm run generate`);
    await writeFile(file, text);
    console.log(`Written: ${file}`);
  }
}
