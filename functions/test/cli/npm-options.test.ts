import { parseArguments } from '../../cli/arguments';
import { runProgramSync } from '../../../test/support/programs';

/** `npm run price-lists` takes options before `--` for itself. The command finds them only in its environment. */

function parse(args: string[], environment: NodeJS.ProcessEnv) {
  const printed: string[] = [];
  const output = {
    print: (text: string) => void printed.push(text),
    printError: (text: string) => void printed.push(text),
  };
  return { parsed: parseArguments(args, output, environment), printed: printed.join('') };
}

const NPM_SCRIPT = { npm_lifecycle_event: 'price-lists' };

test.each([
  ['--dry-run', { npm_config_dry_run: 'true' }, ['sweep'], 'sweep --dry-run\n'],
  ['--project=shop', { npm_config_project: 'shop' }, ['sweep'], 'sweep --project=shop\n'],
  ['--all and --database=copy', { npm_config_all: 'true', npm_config_database: 'copy' }, ['sweep'], '--all'],
  ["--reason='it'\\''s done'", { npm_config_reason: "it's done" }, ['release', 'a b'], "release 'a b' --reason="],
  ['--by <name>', { npm_config_by: 'true' }, ['--project', 'shop', 'resume', 'a', 'me'], 'resume a me --by <name>\n'],
])('%s that npm has taken is rejected with the line to type', (_, environment, args, line) => {
  const { parsed, printed } = parse(args, { ...NPM_SCRIPT, ...environment });
  expect(parsed).toEqual({ kind: 'ended', exitCode: 2 });
  expect(printed).toContain('nothing was done');
  expect(printed).toContain('npx price-lists ');
  expect(printed).toContain(line);
});

/** Settings of npm, as in an `.npmrc`, with the names of our options. */
const SETTINGS = {
  npm_config_yes: 'true',
  npm_config_json: 'true',
  npm_config_all: 'true',
  npm_config_dry_run: 'true',
};

test.each<[string, NodeJS.ProcessEnv, string[]]>([
  ['a setting, for a command that writes nothing', { ...NPM_SCRIPT, ...SETTINGS }, ['list']],
  ['a setting, under npx', { npm_lifecycle_event: 'npx', ...SETTINGS }, ['sweep']],
  [
    '--yes or --json',
    { ...NPM_SCRIPT, npm_config_yes: 'true', npm_config_json: 'true' },
    ['release', 'a', '--reason', 'b'],
  ],
  ['an option of another command', { ...NPM_SCRIPT, npm_config_dry_run: 'true' }, ['resume', 'a']],
  ['what npm sets by itself', { ...NPM_SCRIPT, npm_config_dry_run: '', npm_config_all: 'false' }, ['sweep']],
  ['an option that is also given after --', { ...NPM_SCRIPT, npm_config_all: 'true' }, ['sweep', '--all']],
])('%s is accepted', (_, environment, args) => {
  expect(parse(args, environment).parsed).toMatchObject({ kind: 'command' });
});

test('a sweep whose --dry-run npm has taken writes nothing and prints the line to type', () => {
  const args = ['run', '--silent', 'price-lists', 'sweep', '--dry-run'];
  const { status, stdout, stderr } = runProgramSync('npm', args);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain('npx price-lists sweep --dry-run');
}, 60_000);

test('npx passes every option on, whatever the settings of npm are', () => {
  const args = ['price-lists', 'sweep', '--dry-run', '--project', 'demo-nowhere'];
  const env = { ...SETTINGS, FIRESTORE_EMULATOR_HOST: '127.0.0.1:1' };
  const { status, stderr } = runProgramSync('npx', args, { env });
  expect([status, stderr]).toEqual([1, expect.stringContaining('Project demo-nowhere, at 127.0.0.1:1')]);
}, 60_000);

test('if the link is missing, npx fetches no package of that name from the registry', () => {
  expect(runProgramSync('npm', ['config', 'get', 'yes']).stdout).toBe('false\n');
});
