import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { parseOutsideJson } from '../command/cli/outside-json';
import { endWithMessage, readArguments, refuseArguments } from '../dev/program.mjs';
import { runChecks, type Finding } from './check/checks';
import type { Deployment } from './check/deployment';
import { createGoogleClient, readAccessToken, readEndpoint } from './check/google-api';
import { readDeployManifest } from './check/manifest';
import { readParameters } from './check/parameters';

const USAGE = `Usage: npm run deploy:check -- --project <project>

Checks, before a deployment, what only this service knows: the API keys, the parameters, the database of the indexes, and a pause of
price lists. Changes nothing in the project. deploy/set-up.sh compares the project itself with what the service needs.

Exit code: 0 nothing has to be corrected, 1 something has to be corrected or the program failed, 2 something could not be checked, 64 wrong usage.
A warning does not change the exit code.`;

async function main(): Promise<number> {
  const project = readProject();
  const endpoint = readEndpoint(process.env);
  const token = await readAccessToken(process.env);
  const google = createGoogleClient(project, token, endpoint);
  const findings = await runChecks(await readDeployment(project), google);
  if (token === undefined)
    console.error(
      'No usable Google credentials: only this folder is checked. If the network works, correct the file that ' +
        'GOOGLE_APPLICATION_CREDENTIALS names, or without that variable run: gcloud auth application-default login\n',
    );
  console.log(formatFindings(findings));
  if (findings.some(({ kind }) => kind === 'missing')) return 1;
  return findings.some(({ kind }) => kind === 'unknown') ? 2 : 0;
}

const PROJECT_ID = /^[a-z][a-z0-9-]{4,28}[a-z0-9]$/;
const PROJECT_ID_RULE =
  'a project id has 6 to 30 lower-case letters, digits and hyphens, begins with a letter and does not end with a hyphen.';

function readProject(): string {
  const { project } = readArguments(USAGE, { options: { project: { type: 'string' } } }).values;
  if (project === undefined) refuseArguments('--project is missing: the id of the project to deploy to.', USAGE);
  if (!PROJECT_ID.test(project)) refuseArguments(`--project ${project}: ${PROJECT_ID_RULE}`, USAGE);
  return project;
}

const firebaseJsonSchema = z.object({ firestore: z.object({ database: z.string() }) });

async function readDeployment(projectId: string): Promise<Deployment> {
  // Reads firebase.json at run time, because deploy.yml bundles this program before it sets the database in that file.
  const text = readFileSync('firebase.json', 'utf8');
  const { firestore } = parseOutsideJson(text, firebaseJsonSchema, 'the "database" of "firestore" in firebase.json');
  const manifest = await readDeployManifest('functions/dist');
  return { projectId, manifest, firestoreDatabase: firestore.database, ...readParameters(projectId) };
}

/** Groups findings: what has to be corrected, warnings, what could not be checked (by its reason), and what is valid. */
function formatFindings(findings: Finding[]): string {
  const ofKind = (kind: 'missing' | 'warning') =>
    findings.flatMap((finding) =>
      finding.kind === kind ? [`${finding.subject}: ${finding.detail}\n      ${finding.fix}`] : [],
    );
  const [missing, warnings] = [ofKind('missing'), ofKind('warning')];
  const unknown = findings.filter((finding) => finding.kind === 'unknown');
  const there = findings.filter(({ kind }) => kind === 'ok').map(({ subject }) => subject);
  const groups: [string, string[]][] = [
    [`To correct (${missing.length})`, missing],
    [`Warnings (${warnings.length})`, warnings],
    ...Object.entries(Object.groupBy(unknown, ({ detail }) => detail)).map(
      ([reason, group = []]): [string, string[]] => [
        `Could not be checked (${group.length}): ${reason}`,
        group.map(({ subject }) => subject),
      ],
    ),
    [`Valid (${there.length})`, there],
  ];
  const filled = groups.filter(([, lines]) => lines.length > 0);
  return filled.map(([title, lines]) => [title, ...lines.map((line) => `  ${line}`)].join('\n')).join('\n\n');
}

endWithMessage();
void main().then((code) => (process.exitCode = code));
