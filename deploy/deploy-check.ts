import { readFileSync } from 'node:fs';
import { readArguments, refuseArguments } from '../dev/arguments.mjs';
import { runChecks, type Finding } from './check/checks';
import type { DeclaredIndexes, Deployment } from './check/deployment';
import { createGoogleClient, readAccessToken } from './check/google-api';
import { readDeployManifest } from './check/manifest';
import { readParameters } from './check/parameters';

const USAGE = `Usage: npm run deploy:check -- --project <project> [--keep-rules]

Lists what a deployment needs, what the project has and what it lacks, with the command that supplies it. Changes nothing.

--keep-rules  the project keeps its own Firestore rules, which a deployment of indexes and functions does not change

Exit code: 0 everything is there, 1 something is missing, 2 something could not be checked, 64 wrong usage.`;

async function main(): Promise<number> {
  const { project, keepRules } = readOptions();
  const token = await readAccessToken(process.env);
  const google = createGoogleClient(project, token, process.env['GOOGLE_API_ENDPOINT']);
  const findings = await runChecks({ ...(await readDeployment(project)), keepRules }, google);
  if (token === undefined)
    console.error('No Google credentials: only this folder is checked. Run: gcloud auth application-default login\n');
  console.log(formatFindings(findings));
  if (findings.some(({ kind }) => kind === 'missing')) return 1;
  return findings.some(({ kind }) => kind === 'unknown') ? 2 : 0;
}

const PROJECT_ID = /^[a-z][a-z0-9-]{4,28}[a-z0-9]$/;
const PROJECT_ID_RULE = 'a project id has 6 to 30 lower-case letters, digits and inner hyphens, and a letter first.';

function readOptions(): { project: string; keepRules: boolean } {
  const options = { project: { type: 'string' }, 'keep-rules': { type: 'boolean' } } as const;
  const { project, 'keep-rules': keepRules = false } = readArguments(USAGE, { options }).values;
  if (project === undefined) refuseArguments('--project is missing: the id of the project to deploy to.', USAGE);
  if (!PROJECT_ID.test(project)) refuseArguments(`--project ${project}: ${PROJECT_ID_RULE}`, USAGE);
  return { project, keepRules };
}

interface FirebaseConfig {
  firestore: { database: string; rules: string; indexes: string };
}

// Reads firebase.json at run time, because the workflow sets the database in it.
const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

async function readDeployment(projectId: string): Promise<Omit<Deployment, 'keepRules'>> {
  const manifest = await readDeployManifest('functions/dist');
  const firebase = readJson('firebase.json') as FirebaseConfig;
  const { database: firestoreDatabase, rules: rulesFile } = firebase.firestore;
  const rules = readFileSync(rulesFile, 'utf8');
  const indexes = readJson(firebase.firestore.indexes) as DeclaredIndexes;
  return { projectId, manifest, indexes, firestoreDatabase, rules, ...readParameters(projectId) };
}

/** Groups findings: what is missing, warnings, what could not be checked (by its reason), and what is there. */
function formatFindings(findings: Finding[]): string {
  const ofKind = (kind: 'missing' | 'warning') =>
    findings.flatMap((finding) =>
      finding.kind === kind ? [`${finding.subject}: ${finding.detail}\n      ${finding.fix}`] : [],
    );
  const [missing, warnings] = [ofKind('missing'), ofKind('warning')];
  const unknown = findings.filter((finding) => finding.kind === 'unknown');
  const there = findings.filter(({ kind }) => kind === 'ok').map(({ subject }) => subject);
  const groups: [string, string[]][] = [
    [`Missing (${missing.length})`, missing],
    [`Warnings (${warnings.length})`, warnings],
    ...Object.entries(Object.groupBy(unknown, ({ detail }) => detail)).map(
      ([reason, group = []]): [string, string[]] => [
        `Could not be checked (${group.length}): ${reason}`,
        group.map(({ subject }) => subject),
      ],
    ),
    [`There (${there.length})`, there],
  ];
  const filled = groups.filter(([, lines]) => lines.length > 0);
  return filled.map(([title, lines]) => [title, ...lines.map((line) => `  ${line}`)].join('\n')).join('\n\n');
}

main()
  .then((code) => (process.exitCode = code))
  .catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  });
