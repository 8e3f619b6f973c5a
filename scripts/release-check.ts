import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../test/support/programs';
import { readArguments, refuseArguments } from './arguments.mjs';

const USAGE = `Usage: npm run release:check -- [TAG] [--with REVISION]

Checks what a release must pass besides .ci/run:

1. The versions agree, also with the tag if one is given.
2. The API description breaks no client of the last release.
3. This code and the last release take over each other's attempts, which takes six minutes.

The third check runs also if the second fails, and both are reported.

--with  the last release, if it is not the newest tag v… before`;

/** Breaking changes that the owner accepts, each with the reason. Empty after a release. */
const ACCEPTED_CHANGES = 'scripts/openapi/accepted-changes.json';

async function main(): Promise<void> {
  // Without `--`, npm takes the option for itself and passes on only its value.
  if (process.env['npm_config_with'] !== undefined)
    refuseArguments('npm has taken --with for itself. Write `--` before the options.', USAGE);
  const options = { with: { type: 'string' } } as const;
  const { values, positionals } = readArguments(USAGE, { options, allowPositionals: true });
  const [tag] = positionals;
  checkVersions(tag);
  const last = values.with ?? (await findLastRelease(tag));
  if (last === undefined) {
    console.log('The versions agree. There is no release yet to compare with.');
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'release-check-'));
  const problems: string[] = [];
  try {
    for (const check of [compareDescriptions, rollOut])
      await check(last, folder).catch((error: unknown) => problems.push((error as Error).message));
  } finally {
    rmSync(folder, { recursive: true });
  }
  if (problems.length > 0) throw new Error(problems.join('\n\n'));
}

/** Compares the version in all files that contain it. The client has its own version. @throws Error unless they agree */
function checkVersions(tag: string | undefined): void {
  const files = ['package.json', 'functions/package.json'];
  const versions = files.map((file) => [file, (readJson(file) as Versioned).version]);
  versions.push(['docs/openapi.json', (readJson('docs/openapi.json') as { info: Versioned }).info.version]);
  const newest = /^## (\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$/m.exec(readFileSync('CHANGELOG.md', 'utf8'));
  versions.push(['the newest dated section of CHANGELOG.md', newest?.[1] ?? 'none']);
  if (tag !== undefined) versions.push([`the tag ${tag}`, tag.replace(/^v/, '')]);
  if (new Set(versions.map(([, version]) => version)).size === 1) return;
  throw new Error(['The versions differ:', ...versions.map(([place, version]) => `  ${version}  ${place}`)].join('\n'));
}

interface Versioned {
  version: string;
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

/** @returns the newest tag `v…` before the one that is checked, undefined if there is none */
async function findLastRelease(tag: string | undefined): Promise<string | undefined> {
  const options = ['--tags', '--abbrev=0', '--match', 'v*', '--exclude', tag ?? ''];
  try {
    return (await git('describe', ...options)).trim();
  } catch {
    return undefined;
  }
}

interface DescriptionDiff {
  changes: { path: string; impact: string; verdicts: { impact: string; message: string }[] }[];
}

/** Compares the description with that of a release. @throws Error with the breaking changes that are not accepted */
async function compareDescriptions(release: string, folder: string): Promise<void> {
  const released = join(folder, 'released.json');
  const report = join(folder, 'diff.json');
  writeFileSync(released, await git('show', `${release}:docs/openapi.json`));
  // Without these, Redocly asks the registry for a newer version of itself and reports its use.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const options = ['--format', 'json', '--output', report, '--fail-on', 'none'];
  const command = ['node_modules/@redocly/cli/bin/cli.js', 'diff', released, 'docs/openapi.json', ...options];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', env });
  if (status !== 0) throw new Error(`docs/openapi.json could not be compared with that of ${release}:\n${stderr}`);

  const { changes } = readJson(report) as DescriptionDiff;
  const breaking = changes.flatMap(({ path, verdicts }) =>
    verdicts.flatMap(({ impact, message }) => (impact === 'major' ? [`${toOperation(path)}: ${message}`] : [])),
  );
  const accepted = readJson(ACCEPTED_CHANGES) as Record<string, string>;
  for (const change of breaking) if (accepted[change]) console.log(`Accepted: ${change} ${accepted[change]}`);
  const rejected = breaking.filter((change) => !accepted[change]);
  if (rejected.length === 0) {
    console.log(`docs/openapi.json breaks no client of ${release}.`);
    return;
  }
  throw new Error(
    [`docs/openapi.json breaks clients of ${release}:`, ...rejected.map((change) => `  ${change}`)].join('\n') +
      `\nAccept a change by its name, with the reason, in ${ACCEPTED_CHANGES}.`,
  );
}

/** Turns `#/paths/~1getTeams/get/…` into `GET /getTeams`. */
function toOperation(path: string): string {
  const [, operationPath, method] = /^#\/paths\/([^/]+)\/(\w+)\//.exec(path) ?? [];
  return operationPath === undefined ? path : `${method?.toUpperCase()} ${operationPath.replaceAll('~1', '/')}`;
}

/** Makes this code and a release take over each other's attempts. */
async function rollOut(release: string, folder: string): Promise<void> {
  const { checkHandover } = await import('../functions/test/deployment/rollout');
  const today = { name: 'this code', folder: process.cwd() };
  const elder = { name: release, folder: join(folder, 'release') };
  console.log(`Checking out and building ${release}`);
  await git('worktree', 'add', '--detach', elder.folder, release);
  try {
    await runProgram('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: elder.folder });
    await runProgram('npm', ['run', 'build'], { cwd: elder.folder });
    await checkHandover(elder, today, console.log);
    await checkHandover(today, elder, console.log);
  } finally {
    await git('worktree', 'remove', '--force', elder.folder);
  }
  console.log(`${release} and this code take over each other's attempts, forward and back.`);
}

const git = async (...args: string[]): Promise<string> =>
  (await runProgram('git', args, { maxBuffer: 64 * 1024 * 1024 })).stdout;

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
