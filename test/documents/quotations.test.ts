import { globSync, readFileSync } from 'node:fs';

/**
 * Tests that the runbook quotes texts as the log, the command and the set-up print them. page-commands.test.ts checks the form of
 * its commands.
 */

const COMMAND_OR_OPTION = /^(-|(deploy|firebase|gcloud|gh|node|npm|npx|price-lists|report|resume|show)\b)/;

/** The settings of files, such as `"database": "restored"`, and headers. */
const SETTING = /^("\w+"|[A-Z][\w-]+): /;

/** What Google's platform and Node print. */
const FOREIGN = [
  '7 PERMISSION_DENIED',
  'JavaScript heap out of memory',
  'Memory limit of',
  'The query requires an index',
];

const sources = ['functions/src/**/*.ts', 'command/{audit,cli,records}/**/*.ts', 'deploy/**/*.{ts,sh}'];

/** Replaces numbers, and the placeholders in the code, by 0. */
const withoutNumbers = (text: string) => text.replaceAll(/\$\{[^}]*\}|\d+/g, '0');

const printed = globSync(sources, { exclude: ['**/test/**'] })
  .map((file) => withoutNumbers(readFileSync(file, 'utf8')))
  .join('\n');

test('each text of several words that the runbook quotes is a command, an option, a setting, a header, or a text that the code, Node or the platform of Google prints', () => {
  const page = readFileSync('docs/runbook.md', 'utf8').replaceAll(/^ *```[^]*?```$/gm, '');
  const quoted = [...page.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text).filter((text) => text.includes(' '));
  expect(quoted.length).toBeGreaterThan(20);
  const isElsewhere = (text: string) => COMMAND_OR_OPTION.test(text) || SETTING.test(text) || FOREIGN.includes(text);
  expect(quoted.filter((text) => !isElsewhere(text) && !printed.includes(withoutNumbers(text)))).toEqual([]);
});
