import { parseArguments } from '../../cli/arguments';
import { runProgramSync } from '../../../test/support/programs';

/** npm takes options before `--` for itself: the command knows them from its environment only. */

function parse(args: string[], environment: NodeJS.ProcessEnv) {
  const printed: string[] = [];
  const output = {
    print: (text: string) => void printed.push(text),
    printError: (text: string) => void printed.push(text),
  };
  return { parsed: parseArguments(args, output, environment), printed: printed.join('') };
}

test.each([
  ['--dry-run', { npm_config_dry_run: 'true' }, ['sweep'], 'sweep --dry-run\n'],
  ['--project=shop', { npm_config_project: 'shop' }, ['list'], 'list --project=shop'],
  ["--reason='it'\\''s done'", { npm_config_reason: "it's done" }, ['release', 'a b'], "release 'a b' --reason="],
  ['--json and --older-than=1h', { npm_config_json: 'true', npm_config_older_than: '1h' }, ['list'], '--json'],
])('%s before the two dashes is refused with the right line', (_, environment, args, line) => {
  const { parsed, printed } = parse(args, environment);
  expect(parsed).toEqual({ kind: 'ended', exitCode: 2 });
  expect(printed).toContain('nothing was done');
  expect(printed).toContain(`npm run price-lists -- ${args[0] ?? ''}`);
  expect(printed).toContain(line);
});

test.each<[string, NodeJS.ProcessEnv, string[]]>([
  ['what npm sets by itself', { npm_config_yes: '', npm_config_cache: '/tmp', npm_config_json: 'false' }, ['list']],
  ['an option that stands behind the dashes too', { npm_config_json: 'true' }, ['list', '--json']],
])('%s is no mistake', (_, environment, args) => {
  expect(parse(args, environment).parsed).toMatchObject({ kind: 'command' });
});

test('a sweep whose --dry-run npm has taken writes nothing, and says what to type', () => {
  const args = ['run', '--silent', 'price-lists', 'sweep', '--dry-run'];
  const { status, stdout, stderr } = runProgramSync('npm', args);
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain('npm run price-lists -- sweep --dry-run');
}, 60_000);
