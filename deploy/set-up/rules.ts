import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { parseOutsideJson } from '../../command/cli/outside-json';
import { endWithMessage, readArguments } from '../../dev/program.mjs';

endWithMessage();
const { positionals } = readArguments(
  `Usage: node --import tsx deploy/set-up/rules.ts FILE

Reads FILE, an answer of Google's Rules API. For a release, prints the name of its ruleset. For a ruleset, prints "same" if it
equals firestore.rules, apart from // comments and whitespace, and otherwise "different".`,
  { allowPositionals: true },
);

const answerSchema = z.union([
  z.object({ rulesetName: z.string() }),
  z.object({ source: z.object({ files: z.array(z.object({ content: z.string() })) }) }),
]);
const answer = parseOutsideJson(
  readFileSync(positionals[0] ?? '', 'utf8'),
  answerSchema,
  "The answer of Google's Rules API",
);

const normalize = (rules: string): string => rules.replaceAll(/\/\/.*/g, '').replaceAll(/\s+/g, '');
const compare = (stored: string): boolean => normalize(stored) === normalize(readFileSync('firestore.rules', 'utf8'));

if ('rulesetName' in answer) console.log(answer.rulesetName);
else console.log(compare(answer.source.files.map(({ content }) => content).join('\n')) ? 'same' : 'different');
