import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgramSync } from '../../../test/support/programs';
import { formatCommand } from '../../cli/format';
import { getProgram } from '../../cli/text';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';

/** Runs printed commands in this machine's shells, with `printf` as the program, because a client can choose any id. */

const folder = mkdtempSync(join(tmpdir(), 'shells-'));
afterAll(() => rmSync(folder, { recursive: true }));

const SHELLS = ['sh', 'bash', 'zsh', 'fish'].filter((shell) => runProgramSync(shell, ['-c', 'true']).status === 0);
const OPTIONS = { project: undefined, database: undefined };

const asTyped = (id: string) => formatCommand('show', id, OPTIONS);

/** Ids that are printed unchanged, in quotation marks if a shell needs them. */
const TYPEABLE = [
  'BOQ-7',
  'a b',
  '=ls',
  '~',
  '~root',
  '@home',
  '%self',
  '$HOME',
  '`id`',
  '$(id)',
  '!!',
  '#',
  '-x',
  '--yes',
];
const OTHERS = ['*', '"', '{a,b}', 'a,b', 'a;touch x', 'a&b|c>x', '(id)', '^a^b', 'é ü', '🙂', '[a]', '%PATH%', ''];

/** Ids that are replaced by their hash. */
const HASHED = [
  "it's",
  "\\'; touch x; #",
  'a\\',
  'a\nb',
  '\u001b[2J',
  '\u200b',
  '\u202eb',
  'a\u00a0b',
  '\ufe0f',
  '’; touch x; #',
  '\u3164',
];

test.each(SHELLS)('%s takes each printed id as one word, and runs nothing of it', (shell) => {
  for (const id of [...TYPEABLE, ...OTHERS, ...HASHED]) {
    const command = asTyped(id).replace('npx --no price-lists', "printf '%s\\0'");
    const { status, stdout } = runProgramSync(shell, ['-c', command], { cwd: folder });
    const named = HASHED.includes(id)
      ? ['hash', keyDocumentId(id)]
      : ['boq_list_id', ...(id.startsWith('-') ? ['--'] : []), id];
    expect([id, status, stdout]).toEqual([id, 0, ['show', '--id-type', ...named, ''].join('\0')]);
  }
  expect(runProgramSync('ls', [folder]).stdout).toBe('');
});

test('a word that a shell could take for something else is quoted', () => {
  for (const id of ['=ls', '~root', '@home', '%self', 'a,b']) expect(asTyped(id)).toContain(` '${id}'`);
  expect(asTyped('-x')).toMatch(/ -- -x$/);
  expect(asTyped('BOQ-7')).toMatch(/ BOQ-7$/);
});

test('a printed command begins like the command that prints it', () => {
  expect(asTyped('a')).toMatch(/^npx --no price-lists show /);
  expect(getProgram('/clone/node_modules/.bin/price-lists')).toBe('npx --no price-lists');
  expect(getProgram(`${process.cwd()}/price-lists.cjs`)).toBe('node price-lists.cjs');
  expect(getProgram(`${process.cwd()}/my files/price-lists.cjs`)).toBe("node 'my files/price-lists.cjs'");
});
