import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { runProgramSync } from '../../dev/run/programs';

/**
 * The jobs `attest` and `publish` of release.yml fail if the files of the job `build` have changed, and `publish` also if the archive
 * for partners, from the job `check`, has. The tests run scripts of these four jobs.
 */

const { jobs } = parse(readFileSync('.github/workflows/release.yml', 'utf8')) as {
  jobs: Record<string, { steps: { run?: string }[] } | undefined>;
};

const BUILT = { 'functions-v1.2.3.tgz': 'a package', 'sbom.cdx.json': '{}', 'price-lists.cjs': 'a command' };
const PARTNER = { 'partner-v1.2.3.tgz': 'pages' };

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'release-'));
});
afterEach(() => rmSync(parent, { recursive: true }));

type Files = Record<string, string>;

function writeFiles(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(parent, folder, name)), { recursive: true });
    writeFileSync(join(parent, folder, name), text);
  }
}

/** Runs those scripts of a job that match a pattern, in the job's own folder, until one fails. @returns the last exit code */
function runJob(name: string, text: RegExp, env: Record<string, string> = {}): number | null {
  const cwd = join(parent, name);
  mkdirSync(cwd, { recursive: true });
  // This stub of gh copies an artifact, and records what a release contains.
  const gh = `gh() {
    case "$*" in
      'run download '*) while [ "$1" != --name ]; do shift; done; mkdir -p "$4"; cp -R "../artifacts/$2/." "$4";;
      'release create '*) echo "$@" >> ../published;;
    esac
  }`;
  const scripts = (jobs[name]?.steps ?? []).flatMap(({ run = '' }) => (text.test(run) ? [run] : []));
  for (const script of scripts) {
    const variables = { GITHUB_RUN_ID: '1', GITHUB_REPOSITORY: 'a/b', GITHUB_REF_NAME: 'v1.2.3', ...env };
    const { status } = runProgramSync('bash', ['--norc', '-ec', `${gh}\n${script}`], { cwd, env: variables });
    if (status !== 0) return status;
  }
  expect(scripts).not.toEqual([]);
  return 0;
}

/** Runs the scripts of `build` and `check` that compute digests, and then replaces files. @returns the digests that the jobs pass on */
function build(replaced: Files = {}, partner: Files = PARTNER): Record<'DIGEST' | 'PARTNER_DIGEST', string> {
  writeFiles('build/release', BUILT);
  const output = join(parent, 'output');
  expect(runJob('build', /GITHUB_OUTPUT/, { GITHUB_OUTPUT: output })).toBe(0);
  writeFiles('check', PARTNER);
  const ofPartner = join(parent, 'output-of-check');
  expect(runJob('check', /GITHUB_OUTPUT/, { GITHUB_OUTPUT: ofPartner })).toBe(0);
  cpSync(join(parent, 'build/release'), join(parent, 'artifacts/release'), { recursive: true });
  writeFiles('artifacts/release', replaced);
  writeFiles('artifacts/partner', partner);
  const read = (file: string) => readFileSync(file, 'utf8').trim().replace('digest=', '');
  return { DIGEST: read(output), PARTNER_DIGEST: read(ofPartner) };
}

test.each(['attest', 'publish'])('the job %s accepts what was built', (job) => {
  expect(runJob(job, /gh /, build())).toBe(0);
});

describe.each(['attest', 'publish'])('the job %s fails', (job) => {
  test.each<[string, Files]>([
    ['a file is replaced', { 'functions-v1.2.3.tgz': 'another package' }],
    ['a file is added', { 'functions-v1.2.4.tgz': 'a package' }],
    ['a hidden file is added', { '.npmrc': 'x' }],
    ['a file is added in a folder', { 'more/functions-v1.2.3.tgz': 'a package' }],
  ])('if %s', (_, replaced) => {
    expect(runJob(job, /gh /, build(replaced))).not.toBe(0);
  });

  test('if the job `build` has passed on no digest', () => {
    expect(runJob(job, /gh /, { ...build(), DIGEST: '' })).not.toBe(0);
  });
});

test.each<[string, Files]>([
  ['another archive', { 'partner-v1.2.3.tgz': 'a program that sends the API key elsewhere' }],
  ['an empty archive', { 'partner-v1.2.3.tgz': '' }],
])('the job publish fails if the artifact for partners has %s', (_, partner) => {
  expect(runJob('publish', /gh /, build({}, partner))).not.toBe(0);
});

test('the artifact for partners adds only its archive to the release, and replaces no file', () => {
  const digest = build({}, { ...PARTNER, 'functions-v1.2.3.tgz': 'another package', 'more.tgz': 'x' });
  expect(runJob('publish', /gh /, digest)).toBe(0);
  const [, , , ...published] = readFileSync(join(parent, 'published'), 'utf8').split(' --')[0]?.split(' ') ?? [];
  const built = Object.keys(BUILT).map((file) => `release/${file}`);
  expect(published.sort()).toEqual(['partner/partner-v1.2.3.tgz', ...built.sort()]);
  expect(readFileSync(join(parent, 'publish/release/functions-v1.2.3.tgz'), 'utf8')).toBe('a package');
});
