import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getProgram } from '../../command/cli/text';
import { blocks, documents } from '../harness/blocks';
import { runProgramSync } from '../../dev/run/programs';
import { cleanUp, temporaryFolder } from '../harness/local-server';

/**
 * Runs, in bash, the commands that add an API key, with a stand-in for gcloud, and one for openssl if it must misbehave. Checks
 * the form of commands that pages, alerts and messages show.
 */

let folder: string;
beforeEach(() => (folder = temporaryFolder()));
afterAll(cleanUp);

/** Runs commands in the folder of the test. @param programs the shell code of each stand-in program, by its name */
function runCommands(code: string, programs: Record<string, string>) {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/bash\n${script}\n`, { mode: 0o755 });
  }
  return runProgramSync('bash', ['--norc', '-c', code], {
    cwd: folder,
    env: { PATH: `${bin}:${process.env['PATH']}`, project: 'p' },
  });
}

const readFile = (name: string) => {
  try {
    return readFileSync(join(folder, name), 'utf8');
  } catch {
    return undefined;
  }
};

describe('the commands that add an API key', () => {
  const { code } = blocks.find((block) => block.code.includes('openssl rand')) ?? { code: '' };
  const STORED = `acme:${'0'.repeat(64)}`;
  const gcloud = `echo '# Acme GmbH'; echo '${STORED}'`;

  test('write to keys.txt the lines of the secret, and a line with the digest of the new API key', () => {
    expect(runCommands(code, { gcloud }).status).toBe(0);
    const key = readFile('key')?.trim() ?? '';
    expect(key).toMatch(/^[\da-f]{64}$/);
    const digest = createHash('sha256').update(key).digest('hex');
    expect(readFile('keys.txt')).toBe(`# Acme GmbH\n${STORED}\nacme-2:${digest}\n`);
  });

  const openssl = (rand: string, dgst = 'exec /usr/bin/env -i PATH=/usr/bin:/bin openssl "$@"') =>
    `if [ "$1" = rand ]; then ${rand}; else ${dgst}; fi`;

  test.each([
    ['the API key is empty', code, { gcloud, openssl: openssl('exit 0') }],
    ['the API key is an empty line', code, { gcloud, openssl: openssl('echo') }],
    ['no API key is generated', code, { gcloud, openssl: openssl('exit 1') }],
    ['the API key is missing', code.replace(/openssl rand.* key && grep/, 'grep'), { gcloud }],
    ['the digest is not calculated', code, { gcloud, openssl: openssl(`echo ${'0'.repeat(64)}`, 'exit 1') }],
    ['the secret is not read', code, { gcloud: `${gcloud}; exit 1` }],
  ])('fail, and leave no keys.txt behind, if %s', (_, commands, programs) => {
    writeFileSync(join(folder, 'keys.txt'), 'lines of an earlier rotation');
    expect(runCommands(commands, programs).status).not.toBe(0);
    expect(readFile('keys.txt')).toBeUndefined();
  });
});

const shellBlocks = blocks.filter(({ language }) => ['bash', 'sh'].includes(language));

test('a block of several commands begins with `set -e` or joins them, so that none runs after a failed one', () => {
  const split = shellBlocks.filter(({ code }) => {
    if (/^(\(\s*)?set -e$/m.test(code)) return false;
    const joined = code.replaceAll(/\\\n/g, ' ').replaceAll(/(&&|\|\|?|\{|\bdo|\bthen)\s*\n/g, '$1 ');
    const commands = joined.split('\n').filter((line) => !/^\s*(#.*|(export )?(\w+=\S+( |$))+)?$/.test(line));
    return commands.length > 1;
  });
  expect(split.map(({ document, line }) => `${document}:${line}`)).toEqual([]);
});

// At its prompt, zsh takes a comment for arguments.
test('no block of shell commands has a comment', () => {
  const commented = shellBlocks.filter(({ code }) => /(^|\s)# /m.test(code));
  expect(commented.map(({ document, line }) => `${document}:${line}`)).toEqual([]);
});

// Without --no, npx outside a clone would run a package of the same name from the registry. Without --, npm would treat options as its own.
test('each npx price-lists of the pages, the alerts and the command has --no and --', () => {
  const texts = [...documents, 'emulator/README.md', ...globSync('deploy/monitoring/**/*.json')];
  const commands = texts.flatMap((file) => readFileSync(file, 'utf8').match(/npx (?:-\S* )*price-lists\b/g) ?? []);
  expect(commands.length).toBeGreaterThan(0);
  for (const command of [...commands, getProgram('')]) expect(command).toMatch(/^npx --no -- /);
});
