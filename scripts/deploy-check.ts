import { existsSync, readFileSync } from 'node:fs';
import { parseArgs, parseEnv } from 'node:util';
import { runChecks, type DeclaredIndexes, type Deployment, type Finding } from './deploy/checks';
import { createGoogleClient } from './deploy/google-api';
import { readDeployManifest } from './deploy/manifest';

/**
 *     npm run deploy:check -- --project <project> [--json]
 *
 * Lists what a deployment needs, what is there and what is missing, with the command that supplies it. Changes nothing.
 * Exit code: 0 everything is there, 1 something is missing, 2 something could not be checked, 64 wrong usage.
 */

const USAGE = 'Usage: npm run deploy:check -- --project <project> [--json]';
const DEPLOY_PACKAGE = 'functions/dist';

const MARKS = { ok: 'ok      ', missing: 'MISSING ', unknown: 'unknown ' } as const;

async function main(): Promise<number> {
  const options = readOptions();
  if (options === undefined) {
    console.error(USAGE);
    return 64;
  }
  const deployment = await readDeployment(options.project);
  const findings = await runChecks(deployment, createGoogleClient(process.env, options.project));
  console.log(options.json ? JSON.stringify(findings, null, 2) : formatFindings(findings));
  if (findings.some(({ kind }) => kind === 'missing')) return 1;
  return findings.some(({ kind }) => kind === 'unknown') ? 2 : 0;
}

function readOptions(): { project: string; json: boolean } | undefined {
  try {
    const { project, json = false } = parseArgs({
      options: { project: { type: 'string' }, json: { type: 'boolean' } },
    }).values;
    // The form of a project id, so that it can be part of a path.
    return project !== undefined && /^[a-z][a-z0-9-]{4,28}[a-z0-9]$/.test(project) ? { project, json } : undefined;
  } catch {
    return undefined;
  }
}

async function readDeployment(projectId: string): Promise<Deployment> {
  const { functions } = readJson('firebase.json') as { functions: [{ runtime: string }] };
  const parameters = `functions/.env.${projectId}`;
  return {
    projectId,
    manifest: await readDeployManifest(DEPLOY_PACKAGE),
    runtime: functions[0].runtime,
    indexes: readJson('firestore.indexes.json') as DeclaredIndexes,
    parameters: existsSync(parameters)
      ? (parseEnv(readFileSync(parameters, 'utf8')) as Record<string, string>)
      : undefined,
  };
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

function formatFindings(findings: Finding[]): string {
  const count = (kind: Finding['kind']) => findings.filter((finding) => finding.kind === kind).length;
  return [
    ...findings.flatMap((finding) => [
      `${MARKS[finding.kind]} ${finding.subject}: ${finding.detail}`,
      ...(finding.kind === 'missing' ? [`          ${finding.fix}`] : []),
    ]),
    '',
    `${count('ok')} there, ${count('missing')} missing, ${count('unknown')} could not be checked`,
  ].join('\n');
}

main()
  .then((code) => (process.exitCode = code))
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
