import { readFileSync } from 'node:fs';

/**
 * Exits with 0 if a ruleset equals firestore.rules, apart from comments and whitespace, and otherwise with 1. The argument is a
 * file with Google's JSON of the ruleset.
 */

const [, , file] = process.argv;
const { source } = JSON.parse(readFileSync(file, 'utf8'));
const normalize = (rules) => rules.replaceAll(/\/\/.*/g, '').replaceAll(/\s+/g, '');
const stored = (source?.files ?? []).map(({ content }) => content).join('\n');
if (normalize(stored) !== normalize(readFileSync('firestore.rules', 'utf8'))) process.exitCode = 1;
