import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { parseOutsideJson } from '../command/cli/outside-json';
import { runProgram } from '../dev/run/programs';
import { endWithMessage, readArguments } from '../dev/program.mjs';

const USAGE = `Usage: npm run release:check -- [TAG] [--with REVISION]

Checks what .ci/run does not:

1. If a tag is given, the versions agree with it.
2. The API description breaks no client of an earlier revision, except for the breaks in deploy/accepted-breaks.json.

--with  the earlier revision (default: the newest earlier tag v…, or the parent commit if there is none)`;

/**
 * Deliberate breaks, each with its reason, by the names that this program prints. A line counts only if the earlier revision lacks
 * it, so old lines can stay.
 */
const ACCEPTED_BREAKS = 'deploy/accepted-breaks.json';

const breaksSchema = z.record(z.string(), z.string());

type Breaks = z.infer<typeof breaksSchema>;

async function main(): Promise<void> {
  const options = { with: { type: 'string' } } as const;
  const { values, positionals } = readArguments(USAGE, { options, allowPositionals: true });
  const [tag] = positionals;
  if (tag !== undefined) compareVersions(tag);
  const earlier = values.with ?? (await findEarlier(tag));
  const accepted = await readNewBreaks(earlier);
  const folder = mkdtempSync(join(tmpdir(), 'release-check-'));
  try {
    await compareDescriptions(earlier, accepted, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @throws Error if there is no earlier tag and no parent commit */
async function findEarlier(tag: string | undefined): Promise<string> {
  const options = ['--tags', '--abbrev=0', '--match', 'v*', '--exclude', tag ?? ''];
  const find = async (...args: string[]) => (await git(...args)).trim();
  return find('describe', ...options)
    .catch(() => find('rev-parse', '--verify', '--short', 'HEAD^'))
    .catch(() => {
      throw new Error('There is nothing to compare with: no earlier tag v… and no parent commit. Use --with REVISION.');
    });
}

/**
 * @returns the accepted breaks that the earlier revision lacks
 * @throws Error if there is no such revision, or if a table of breaks cannot be read
 */
async function readNewBreaks(earlier: string): Promise<Breaks> {
  await git('rev-parse', '--verify', '--quiet', `${earlier}^{commit}`).catch(() => {
    throw new Error(`There is nothing to compare with: this clone has no revision ${earlier}.`);
  });
  const text = await git('show', `${earlier}:${ACCEPTED_BREAKS}`).catch(() => '{}');
  const before = parseOutsideJson(text, breaksSchema, `${ACCEPTED_BREAKS} of ${earlier}`);
  const now = Object.entries(readJson(ACCEPTED_BREAKS, breaksSchema));
  return Object.fromEntries(now.filter(([name, reason]) => before[name] !== reason));
}

/**
 * Compares the versions in package.json, functions/package.json, the API description and the changelog with a tag.
 * @throws Error unless they agree
 */
function compareVersions(tag: string): void {
  const files = ['package.json', 'functions/package.json'];
  const versions = files.map((file) => [file, readJson(file, versionedSchema).version]);
  versions.push(['docs/openapi.json', readJson('docs/openapi.json', descriptionSchema).info.version]);
  const newest = /^## (\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}$/m.exec(readFileSync('CHANGELOG.md', 'utf8'));
  versions.push(['the newest dated section of CHANGELOG.md', newest?.[1] ?? 'none']);
  versions.push([`the tag ${tag}`, tag.replace(/^v/, '')]);
  if (new Set(versions.map(([, version]) => version)).size === 1) return;
  throw new Error(['The versions differ:', ...versions.map(([place, version]) => `  ${version}  ${place}`)].join('\n'));
}

const versionedSchema = z.object({ version: z.string() });
const descriptionSchema = z.object({ info: versionedSchema });

const readJson = <T>(file: string, schema: z.ZodType<T>): T =>
  parseOutsideJson(readFileSync(file, 'utf8'), schema, file);

const diffSchema = z.object({
  changes: z.array(
    z.object({ path: z.string(), verdicts: z.array(z.object({ impact: z.string(), message: z.string() })) }),
  ),
});

/** Compares the description with an earlier one. @throws Error if the comparison fails, or if it finds a break that is not accepted */
async function compareDescriptions(earlier: string, accepted: Breaks, folder: string): Promise<void> {
  const before = join(folder, 'before.json');
  const report = join(folder, 'diff.json');
  writeFileSync(before, await git('show', `${earlier}:docs/openapi.json`));
  // Without these variables, Redocly would ask the registry for a newer version of itself, and report its use.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const options = ['--format', 'json', '--output', report, '--fail-on', 'none'];
  const command = ['node_modules/@redocly/cli/bin/cli.js', 'diff', before, 'docs/openapi.json', ...options];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', env });
  if (status !== 0) throw new Error(`docs/openapi.json could not be compared with that of ${earlier}:\n${stderr}`);

  const { changes } = readJson(report, diffSchema);
  const breaking = changes.flatMap(({ path, verdicts }) =>
    verdicts.flatMap(({ impact, message }) => (impact === 'major' ? [`${toOperation(path)}: ${message}`] : [])),
  );
  for (const change of breaking) if (accepted[change]) console.log(`Accepted: ${change} ${accepted[change]}`);
  const rejected = breaking.filter((change) => !accepted[change]);
  if (rejected.length === 0) {
    const except = breaking.length === 0 ? '' : ', except for the accepted breaks';
    console.log(`docs/openapi.json breaks no client of ${earlier}${except}.`);
    return;
  }
  throw new Error(
    [`docs/openapi.json breaks clients of ${earlier}:`, ...rejected.map((change) => `  ${change}`)].join('\n') +
      `\nTo accept a change, add its name with the reason to ${ACCEPTED_BREAKS}.`,
  );
}

/** Turns `#/paths/~1getTeams/get/…` into `GET /getTeams`. */
function toOperation(path: string): string {
  const [, operationPath, method] = /^#\/paths\/([^/]+)\/(\w+)\//.exec(path) ?? [];
  return operationPath === undefined ? path : `${method?.toUpperCase()} ${operationPath.replaceAll('~1', '/')}`;
}

/** Runs git with the user's own settings, such as `safe.directory`. */
const git = async (...args: string[]): Promise<string> => {
  const env = { GIT_CONFIG_GLOBAL: undefined, GIT_CONFIG_SYSTEM: undefined };
  return (await runProgram('git', args, { maxBuffer: 64 * 1024 * 1024, env })).stdout;
};

endWithMessage();
void main();
