import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import indexDefinitions from '../../firestore.indexes.json';
import { DEPLOY_PACKAGE } from '../../dev/run/deployed';
import { runProgramSync } from '../../dev/run/programs';
import { REGION } from '../../functions/src/lib/region';
import { readDeployManifest } from '../check/manifest';

/** Runs deploy/set-up.sh with stubs of gcloud, firebase and curl, which keep the state of a project in files of the folder STATE. */

const PROJECT = 'my-project';

/** Fails the call whose number is in REFUSE. A command that creates what already exists fails too, as most of Google's commands do. */
const STUB = `#!/bin/bash
cd "$STATE"
call="\${0##*/} $*"
echo "$call" >> calls
[[ "$call" != curl* ]] || read -r _
mapfile -t calls < calls
if [ "\${#calls[@]}" -eq "\${REFUSE:-0}" ]; then echo "PERMISSION_DENIED: refused" >&2; exit 1; fi
option() { for each; do case $each in "--$name="*) echo "\${each#*=}" ;; esac; done; }
show() { [ ! -s "$1" ] || printf '%s\\n' "$(< "$1")"; }
create() { local text added; text=$(< "$1"); printf -v added '%b' "$2"; if [[ "$text" = *"$added"* ]]; then echo "ALREADY_EXISTS: $2" >&2; exit 1; fi; printf '%b\\n' "$2" >> "$1"; }
case "$call" in
  'gcloud services list'*) show services ;;
  'gcloud services enable'*) for each; do [[ $each != *.googleapis.com ]] || echo "$each" >> services; done ;;
  'firebase projects:list'*) printf '{ "result": [%s] }' "$(cat firebase)" ;;
  'firebase projects:addfirebase'*) create firebase "{ \\"projectId\\": \\"$2\\" }" ;;
  'gcloud firestore databases list'*) show databases ;;
  'gcloud firestore databases create'*) create databases "$(name=database option "$@")\\tFIRESTORE_NATIVE\\tPOINT_IN_TIME_RECOVERY_DISABLED\\tDELETE_PROTECTION_DISABLED" ;;
  'gcloud firestore databases update'*--type=*) sed -i.bak s/DATASTORE_MODE/FIRESTORE_NATIVE/ databases ;;
  'gcloud firestore databases update'*--enable-pitr*) sed -i.bak s/_DISABLED/_ENABLED/g databases ;;
  'gcloud firestore backups schedules list'*) show schedules ;;
  'gcloud firestore backups schedules create'*) create schedules "$(name=recurrence option "$@")" ;;
  'gcloud projects describe'*) echo 123 ;;
  'gcloud iam service-accounts list'*) show accounts ;;
  'gcloud iam service-accounts create'*) create accounts "$4@my-project.iam.gserviceaccount.com\\tFalse" ;;
  'gcloud iam service-accounts enable'*) sed -i.bak "s/$4.*/$4\\tFalse/" accounts ;;
  'gcloud projects get-iam-policy'*) show policy ;;
  'gcloud projects add-iam-policy-binding'*) create policy "$(name=member option "$@")\\t$(name=role option "$@")" ;;
  'firebase firestore:indexes'*) show indexes ;;
  'firebase deploy --only firestore:indexes'*) cp declared indexes ;;
  'gcloud firestore indexes composite list'*) show unready ;;
  'gcloud auth print-access-token') echo token ;;
  curl*/releases/*) [[ "$call" =~ --output\\ ([^ ]+) ]]; cp release "\${BASH_REMATCH[1]}"; if [ -s release ]; then printf 200; else printf 404; fi ;;
  curl*/rulesets/1) [[ "$call" =~ --output\\ ([^ ]+) ]]; cp ruleset "\${BASH_REMATCH[1]}"; printf 200 ;;
  'gcloud functions list'*) show functions ;;
  'gcloud secrets list'*) show secrets ;;
  *) echo "no stub: $call" >&2; exit 1 ;;
esac
`;

const stored = ({ indexes, fieldOverrides }: Pick<typeof indexDefinitions, 'indexes' | 'fieldOverrides'>) =>
  JSON.stringify({
    status: 'success',
    result: {
      indexes: indexes.map(({ fields, ...each }) => ({
        ...each,
        fields: [...fields, { fieldPath: '__name__', order: 'ASCENDING' }],
      })),
      fieldOverrides,
    },
  });

/** A project that is empty except for the secrets, which the script does not create. */
const EMPTY: Record<string, string> = {
  ...Object.fromEntries(
    [
      'services',
      'firebase',
      'databases',
      'schedules',
      'accounts',
      'policy',
      'unready',
      'release',
      'ruleset',
      'functions',
    ].map((file) => [file, '']),
  ),
  indexes: stored({ indexes: [], fieldOverrides: [] }),
  declared: stored(indexDefinitions),
  secrets: 'API_KEY\nVERIFY_API_KEY\n',
};

let parent: string;
let state: string;

function createProject(): void {
  parent = mkdtempSync(join(tmpdir(), 'set-up-'));
  for (const name of ['gcloud', 'firebase', 'curl']) writeFileSync(join(parent, name), STUB, { mode: 0o755 });
  state = join(parent, 'state');
  mkdirSync(state);
  write(EMPTY);
}
const removeProject = () => rmSync(parent, { recursive: true });

beforeAll(() => {
  createProject();
  expect(run(['--apply']).status).toBe(0);
  whole = readFiles();
  removeProject();
});
beforeEach(createProject);
afterEach(removeProject);

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(state, name), text);
}

function run(args: string[], { refuse = 0 } = {}) {
  rmSync(join(state, 'calls'), { force: true });
  const env = { PATH: `${parent}:${process.env['PATH']}`, STATE: state, REFUSE: String(refuse) };
  const { status, stdout, stderr } = runProgramSync('bash', ['deploy/set-up.sh', ...args, PROJECT], { env });
  const calls = readFileSync(join(state, 'calls'), 'utf8').trim().split('\n');
  return { status, stdout, stderr, calls };
}

/** The files of a project that the script has set up. */
let whole: Record<string, string>;

const readFiles = () =>
  Object.fromEntries(
    readdirSync(state)
      .filter((name) => name !== 'calls' && !name.endsWith('.bak'))
      .map((name) => [name, readFileSync(join(state, name), 'utf8')]),
  );

/** Sorts the lines of the files, because their order depends on the order of the calls. */
const sortLines = (files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [name, text.split('\n').sort()]));

const readState = () => sortLines(readFiles());

const CHANGES =
  /^(gcloud .*\b(enable|create|update|delete|add-iam-policy-binding|remove-iam-policy-binding)\b|firebase (deploy|projects:addfirebase))/;

test('the script sets up a project that has only its secrets, and in a second run finds nothing left to do and changes nothing', () => {
  expect(run(['--apply'])).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/\n# Nothing is left\.\n$/) as string,
  });
  expect(readState()).toEqual(sortLines(whole));
  for (const args of [['--apply'], []]) {
    const { status, stdout, calls } = run(args);
    expect([status, stdout]).toEqual([0, '# Nothing is left.\n']);
    expect(calls.filter((call) => CHANGES.test(call))).toEqual([]);
  }
  expect(readState()).toEqual(sortLines(whole));
});

test('without --apply, the script changes nothing, and prints commands that set the project up when a person runs them', () => {
  for (let runs = 0; ; runs += 1) {
    const { status, stdout, calls } = run([]);
    expect(calls.filter((call) => CHANGES.test(call))).toEqual([]);
    if (status === 0) break;
    expect(runs).toBeLessThan(4);
    const env = { PATH: `${parent}:${process.env['PATH']}`, STATE: state };
    expect(runProgramSync('bash', ['-e', '-c', stdout], { env })).toMatchObject({ status: 0 });
  }
  expect(readState()).toEqual(sortLines(whole));
});

test('whichever call is refused, the script fails and changes nothing more, and after a refused change, the next run completes the set-up', () => {
  const { calls } = run(['--apply']);
  for (const [i, call] of calls.entries()) {
    write(EMPTY);
    const { status, stderr, calls: made } = run(['--apply'], { refuse: i + 1 });
    expect([call, status]).toEqual([call, 1]);
    expect(stderr).toContain('PERMISSION_DENIED: refused');
    expect(made.slice(i + 1).filter((each) => CHANGES.test(each))).toEqual([]);
    if (!CHANGES.test(call)) continue;
    expect(run(['--apply']).status).toBe(0);
    expect(readState()).toEqual(sortLines(whole));
  }
});

const READER = `organisation-data-reader@${PROJECT}.iam.gserviceaccount.com`;
const RULES = readFileSync('firestore.rules', 'utf8');
const rulesetOf = (content: string) => ({
  release: '{"rulesetName": "projects/my-project/rulesets/1"}',
  ruleset: JSON.stringify({ source: { files: [{ content }] } }),
});

const RUN = 'gcloud firestore';
const OF_DATABASE = '--database=\\(default\\) --project my-project';

/**
 * A change of one file of a project that is set up, and a line that the script then prints. A row that changes nothing has another
 * line for the change above it.
 */
type Drift = [name: string, from: string | RegExp, to: string, said: string];

/** What the script repairs. */
const REPAIRED: Drift[] = [
  ['services', 'run.googleapis.com\n', '', 'gcloud services enable run.googleapis.com --project my-project'],
  ['databases', 'FIRESTORE_NATIVE', 'DATASTORE_MODE', `${RUN} databases update ${OF_DATABASE} --type=firestore-native`],
  [
    'databases',
    'PROTECTION_ENABLED',
    'PROTECTION_DISABLED',
    `${RUN} databases update ${OF_DATABASE} --enable-pitr --delete-protection`,
  ],
  ['schedules', /^[^]*$/, '', `${RUN} backups schedules create ${OF_DATABASE} --recurrence=daily --retention=14d`],
  [
    'accounts',
    `${READER}\tFalse`,
    `${READER}\tTrue`,
    `gcloud iam service-accounts enable ${READER} --project my-project`,
  ],
  [
    'policy',
    `serviceAccount:${READER}\troles/datastore.viewer\n`,
    '',
    `gcloud projects add-iam-policy-binding my-project --condition=None --member=serviceAccount:${READER} --role=roles/datastore.viewer`,
  ],
  [
    'indexes',
    '"team_id","order":"ASCENDING"',
    '"other","order":"ASCENDING"',
    'firebase deploy --only firestore:indexes --project my-project --non-interactive',
  ],
  [
    'indexes',
    /price_list_payload/,
    'other',
    '# Missing: orders (COLLECTION) team_id ASCENDING, created_at ASCENDING; price_list_payload.*: no index',
  ],
];

/** What a person has to decide, or to wait for. */
const DECIDED: Drift[] = [
  [
    'unready',
    /^/,
    'abc\tCREATING\nxyz\tNEEDS_REPAIR\n',
    '# Firestore builds the index abc. Run this script again until the index is ready.',
  ],
  ['unready', /^/, '', "#   gcloud firestore indexes composite delete xyz --database='(default)' --project my-project"],
  [
    'policy',
    /$/,
    'allUsers\troles/datastore.viewer\nallAuthenticatedUsers\troles/viewer\n',
    '#   gcloud projects remove-iam-policy-binding my-project --condition=None --member=allUsers --role=roles/datastore.viewer',
  ],
  ['policy', /^/, '', '# allAuthenticatedUsers has roles/viewer in the whole project. Remove it:'],
  [
    'release',
    /^/,
    rulesetOf('').release,
    '# The rules of the database differ from firestore.rules, which refuses every client.',
  ],
  [
    'ruleset',
    /^/,
    rulesetOf(RULES.replace('false', 'true')).ruleset,
    '# In a project of its own, set "database" in firebase.json to (default), and replace them: firebase deploy --only firestore:rules --project my-project',
  ],
  [
    'functions',
    /^/,
    'getTeams\tdefault\ngetMarkets\t\n',
    '# A deployment would overwrite the function getTeams of another system. Use another project or region.',
  ],
  [
    'functions',
    /^/,
    '',
    '# A deployment would overwrite the function getMarkets of another system. Use another project or region.',
  ],
  [
    'secrets',
    /^API_KEY/m,
    'OTHER_API_KEY',
    '# The secret API_KEY is missing. Set the first API key: docs/deployment.md#api-key-rotation',
  ],
];

/** Changes the files of a project that is set up, and runs the script. @returns its exit code, and the lines that it prints */
function drift(changes: Drift[]): { status: number | null; lines: string[] } {
  write(whole);
  for (const [name, from, to] of changes) {
    const text = readFileSync(join(state, name), 'utf8');
    expect(text).toMatch(from);
    write({ [name]: text.replace(from, () => to) });
  }
  const { status, stdout } = run([]);
  return { status, lines: stdout.split('\n').map((line) => line.trimEnd()) };
}

test('the script prints the commands that repair a changed project, and with --apply runs them', () => {
  const { status, lines } = drift(REPAIRED.filter(([name]) => name !== 'services'));
  expect([status, lines]).toEqual([1, expect.arrayContaining(REPAIRED.slice(1).map(([, , , said]) => said))]);
  expect(run(['--apply']).status).toBe(0);
  expect(readState()).toEqual(sortLines(whole));
});

test('the script compares nothing else while a service is disabled', () => {
  const { status, lines } = drift(REPAIRED.slice(0, 2));
  const rest = '# The rest can be compared when these services are enabled.';
  expect([status, lines]).toEqual([1, [REPAIRED[0]?.[3], rest, '']]);
  expect(run(['--apply']).status).toBe(0);
  expect(readState()).toEqual(sortLines(whole));
});

test('the script names what a person has to decide or wait for, and changes none of it', () => {
  const { status, lines } = drift(DECIDED);
  expect([status, lines]).toEqual([1, expect.arrayContaining(DECIDED.map(([, , , said]) => said))]);
  const before = readState();
  expect(run(['--apply']).status).toBe(1);
  expect(readState()).toEqual(before);
});

test('a weekly backup schedule does not count as the daily one', () => {
  write(whole);
  const filter = 'backups schedules list --database=(default) --project my-project --filter=NOT weeklyRecurrence:*';
  expect(run([]).calls).toContainEqual(expect.stringContaining(filter));
});

test('the script waits only for indexes of the collections for which the service declares some', () => {
  write(whole);
  const groups = [...new Set(indexDefinitions.indexes.map(({ collectionGroup }) => collectionGroup))].join('|');
  const filter = `--filter=state!=READY AND name~'/collectionGroups/(${groups})/'`;
  expect(run([]).calls).toContainEqual(expect.stringContaining(filter));
});

test.each(DECIDED.filter(([, , to]) => to !== '' && !to.startsWith('{')))(
  'one change in the file %s after which a person has to decide or wait makes the script exit with 1',
  (...change) => {
    expect(drift([change]).status).toBe(1);
  },
);

test.each<[what: string, files: Record<string, string>, args: string[], said: string]>([
  ['has firestore.rules with comments', rulesetOf(`// ours\n${RULES}`), [], ''],
  ['keeps its own rules', rulesetOf('allow read;'), ['--keep-rules'], ''],
  ['has functions of this service', { functions: 'getTeams\torganisation-data\nother\tdefault\n' }, [], ''],
])('nothing is left to do in a project that %s', (_, files, args, said) => {
  write(whole);
  write(files);
  expect(run(args)).toMatchObject({ status: 0, stdout: `${said}# Nothing is left.\n` });
});

test('the script names the second role of an account, and succeeds', () => {
  write(whole);
  const policy = readFileSync(join(state, 'policy'), 'utf8');
  write({ policy: `${policy}serviceAccount:${READER}\troles/editor\n` });
  const { status, stdout } = run(['--apply']);
  expect([status, stdout]).toEqual([0, expect.stringContaining(`# ${READER} also has roles/editor.`)]);
  expect(readFileSync(join(state, 'policy'), 'utf8')).toContain('roles/editor');
});

test('the script creates the accounts that the deploy package names', async () => {
  write(whole);
  const { endpoints } = await readDeployManifest(DEPLOY_PACKAGE);
  const used = Object.values(endpoints).map((each) => (each as { serviceAccountEmail: string }).serviceAccountEmail);
  const created = readFileSync(join(state, 'accounts'), 'utf8').trim().split('\n');
  expect(created.map((line) => line.split('\t')[0]?.replace(PROJECT, '{{ params.PROJECT_ID }}')).sort()).toEqual(
    [...new Set(used)].sort(),
  );
});

test('with --database, the script compares the named database, and creates no indexes in that of firebase.json', () => {
  const { status, stdout, calls } = run(['--apply', '--database', 'restored']);
  expect([status, stdout]).toEqual([1, expect.stringContaining("# Firebase's tools would create them in (default), ")]);
  expect(calls.filter((call) => call.startsWith('firebase deploy'))).toEqual([]);
  const named = calls.filter((call) => call.includes('firestore') && !call.includes('databases list'));
  for (const call of named.filter((each) => !/releases|services enable/.test(each)))
    expect(call).toContain('--database=restored');
  expect(calls.join('\n')).toContain(`/releases/cloud.firestore/restored`);
  expect(calls.join('\n')).toContain(`--regions ${REGION} `);
});

test.each([[['--aply']], [['--database']], [['a', 'b']]])(
  'for the arguments %j, the script prints its usage',
  (args) => {
    const { status, stderr } = runProgramSync('bash', ['deploy/set-up.sh', ...args], {});
    expect([status, stderr]).toEqual([64, expect.stringContaining('# Usage: deploy/set-up.sh [--apply]')]);
  },
);
