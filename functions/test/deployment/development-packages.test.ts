import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startFirestore } from '../../../packages/firestore-local/src';
import lock from '../../../package-lock.json';
import { readDeployManifest } from '../../../scripts/deploy/manifest';
import { runProgram, runProgramSync, type Variables } from '../../../scripts/harness/programs';
import { readJob, type Job } from './jobs';

/** No development package runs in a job that has rights, or whose output is signed. */

/** The development packages of the repository. A package that Firebase's client needs too has `devOptional` instead. */
const DEVELOPMENT = Object.entries(lock.packages as Record<string, { dev?: boolean }>)
  .filter(([, { dev }]) => dev === true)
  .map(([path]) => path);

const parent = mkdtempSync(join(tmpdir(), 'jobs-'));
afterAll(() => rmSync(parent, { recursive: true }));

/** Copies the files of a checkout to a folder that has no packages above it. */
function checkOut(folder: string): void {
  const files = runProgramSync('git', ['ls-files', '--cached', '--others', '--exclude-standard']).stdout.trim();
  for (const file of files.split('\n').filter((file) => existsSync(file))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(file, join(folder, file));
  }
}

/** Created by each development package that runs. */
const POISONED = join(parent, 'poisoned');

/** Replaces every development package of the folder, as if all were installed and malicious. */
const POISON = `
  const { mkdirSync, writeFileSync } = require('node:fs');
  for (const path of ${JSON.stringify(DEVELOPMENT)}) {
    mkdirSync(path, { recursive: true });
    writeFileSync(path + '/package.json', JSON.stringify({ version: '0.0.0', main: 'index.js' }));
    writeFileSync(path + '/index.js', 'require("node:fs").writeFileSync(${JSON.stringify(POISONED)}, __filename);');
  }`;

/**
 * Stands in for npm: installs the packages of the repository, keeps their list, and adds the malicious ones. The second
 * job that installs by the same command gets a copy. firebase-tools, in a folder with a lock file of its own, is left out.
 */
const NPM = `#!/bin/bash -e
npm() { "${runProgramSync('which', ['npm']).stdout.trim()}" "$@"; }
case "$*" in
  *.github/tools*) ;;
  ci*--prefix*) npm "$@" --prefer-offline --no-audit --no-fund --loglevel=error ;;
  ci*)
    copy="${parent}/$*"
    if [ ! -d "$copy" ]; then
      npm "$@" --prefer-offline --no-audit --no-fund --loglevel=error
      cp -R node_modules "$copy"
    else cp -R "$copy" node_modules; fi
    cp node_modules/.package-lock.json installed.json
    "${process.execPath}" "${parent}/poison.cjs" ;;
  *) npm "$@" ;;
esac
`;

/** Runs a job's steps up to the one that gives it rights, if they install or build. */
async function prepare(folder: string, { steps }: Job): Promise<void> {
  const scripts = steps.flatMap(({ run = '' }) => (run.includes('npm ci') ? [run] : []));
  const env = { PATH: `${join(parent, 'bin')}:${process.env['PATH']}`, GITHUB_PATH: '/dev/null' };
  for (const script of scripts) await runProgram('bash', ['--norc', '-ec', script], { cwd: folder, env });
}

/** Runs a program by the path that the job uses, whether or not it succeeds. */
function runProgramOfJob(folder: string, { steps }: Job, name: string, args: string[], env: Variables = {}) {
  const scripts = steps.map(({ run = '' }) => run).join('\n');
  const [, program = 'missing'] = new RegExp(`node (\\S*${name}\\.cjs)`).exec(scripts) ?? [];
  return runProgram(process.execPath, [program, ...args], { cwd: folder, env: { HOME: parent, ...env } }).catch(
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  );
}

const runVerify = (folder: string, job: Job) =>
  runProgramOfJob(folder, job, 'verify', ['--url', 'http://127.0.0.1:9', '--key-file', join(parent, 'key'), '--json']);

beforeAll(() => {
  mkdirSync(join(parent, 'bin'));
  writeFileSync(join(parent, 'bin', 'npm'), NPM, { mode: 0o755 });
  writeFileSync(join(parent, 'poison.cjs'), POISON);
  writeFileSync(join(parent, 'key'), 'a-key');
});

describe.each([
  ['deploy', 'deploy'],
  ['audit', 'audit'],
  ['release', 'build'],
])('the job of %s.yml', (workflow, name) => {
  const job = readJob(workflow, name);
  const folder = join(parent, workflow);

  beforeAll(async () => {
    checkOut(folder);
    await prepare(folder, job);
  });

  const expectNotPoisoned = () => {
    const ran = existsSync(POISONED) ? readFileSync(POISONED, 'utf8') : 'none';
    rmSync(POISONED, { force: true });
    expect(ran).toBe('none');
  };
  afterEach(expectNotPoisoned);

  test('runs none when it builds', expectNotPoisoned);

  test('installs no development package', () => {
    const { packages } = JSON.parse(readFileSync(join(folder, 'installed.json'), 'utf8')) as typeof lock;
    expect(Object.keys(packages).length).toBeGreaterThan(200);
    expect(Object.keys(packages).filter((path) => DEVELOPMENT.includes(path))).toEqual([]);
  });

  if (workflow === 'deploy') {
    test("runs none when Firebase's tools discover the functions", async () => {
      const { endpoints } = await readDeployManifest(join(folder, 'functions/dist'));
      expect(Object.keys(endpoints)).toContain('addPriceLists');
    });

    test('runs none when it checks the deployment', async () => {
      const google = { GOOGLE_API_ENDPOINT: 'http://127.0.0.1:9', CLOUDSDK_AUTH_ACCESS_TOKEN: 'a-token' };
      const { stdout } = await runProgramOfJob(folder, job, 'deploy-check', ['--project', 'poison-test'], google);
      expect(stdout).toContain('Could not be checked');
    });
  }

  if (workflow === 'audit') {
    test('runs none when it audits', async () => {
      const firestore = await startFirestore();
      const env = { FIRESTORE_EMULATOR_HOST: firestore.address };
      const args = ['audit', '--project', 'poison-test', '--json'];
      expect(await runProgramOfJob(folder, job, 'price-lists', args, env)).not.toHaveProperty('code');
      await firestore.close();
    });
  }

  if (workflow !== 'release') {
    test('runs none when it verifies the responses', async () => {
      expect(await runVerify(folder, job)).toMatchObject({ code: 1 });
    });
  }
});
