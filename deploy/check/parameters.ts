import { existsSync, readFileSync } from 'node:fs';
import { findOriginProblem } from '../../functions/src/lib/origins';
import { DATABASE_ID, getDatabaseId, type Deployment } from './deployment';
import type { ManifestParam } from './manifest';
import type { Problem, Requirement } from './requirement';

/**
 * A line of a .env file: a blank line, a comment, or a name and a value, which can be in quotation marks. Firebase's tools also
 * accept other lines, such as those of a value that spans several lines. This program refuses them, because Firebase's tools could
 * read unexpected values from them.
 */
const LINE =
  /^\s*(?:(?:export\s+)?([A-Z_][A-Z\d_]*)\s*=\s*(?:"([^"\\\r]*)"\s*|'([^'\\\r]*)'\s*|([^\s"'#](?:[^#\r]*[^\s#])?)\s*)?)?(?:#.*)?$/;

/**
 * Parses a .env file.
 * @returns the values of the lines that can be read, as Firebase's tools read them, and the numbers, from 1, of the lines that
 *   cannot be read or repeat a name
 */
export function parseParameters(text: string): { values: Record<string, string>; invalidLines: number[] } {
  const lines = text.split(/\r?\n/).map((line) => LINE.exec(line));
  const values = lines.flatMap((match) => {
    const [, name, ...forms] = match ?? [];
    return name === undefined ? [] : [[name, forms.find(Boolean) ?? ''] as const];
  });
  const names = lines.map((match) => match?.[1]);
  const invalidLines = lines.flatMap((match, i) => {
    const isAgain = names[i] !== undefined && names.indexOf(names[i]) < i;
    return match === null || isAgain ? [i + 1] : [];
  });
  return { values: Object.fromEntries(values), invalidLines };
}

/** Reads and merges .env and .env.<project>, whose values take precedence. */
export function readParameters(
  projectId: string,
  folder = 'functions',
): Pick<Deployment, 'parameters' | 'invalidLines'> {
  const files = [`${folder}/.env`, `${folder}/.env.${projectId}`].filter((file) => existsSync(file));
  const parsed = files.map((file) => ({ file, ...parseParameters(readFileSync(file, 'utf8')) }));
  return {
    parameters: Object.assign({}, ...parsed.map(({ values }) => values)) as Record<string, string>,
    invalidLines: parsed.flatMap(({ file, invalidLines }) => invalidLines.map((line) => `${file}:${line}`)),
  };
}

/**
 * Lists the requirements of the parameters and of the database of the indexes. A parameter needs a value even if it has a default,
 * because firebase-tools demands the value when it runs without a terminal.
 */
export function listParameters(deployment: Deployment): Requirement[] {
  const { projectId, manifest, parameters, invalidLines, firestoreDatabase } = deployment;
  const file = `functions/.env.${projectId}`;
  const findProblem = (param: ManifestParam): Problem | undefined => {
    const value = parameters[param.name];
    if (value === undefined)
      // The command first ends the last line of the file, which may lack its line break.
      return [`not in ${file}`, `printf '\\n%s\\n' '${param.name}=${String(param.default ?? '')}' >> ${file}`];
    const problem = findValueProblem(param, value, parameters);
    return problem === undefined ? undefined : [problem, `correct it in functions/.env or ${file}`];
  };
  const settings = manifest.params.filter(({ type }) => type !== 'secret');
  const databaseId = getDatabaseId(deployment);
  const unreadable: Problem = [
    `${invalidLines.join(', ')}: not NAME=value, or a repeated name`,
    'write each parameter once, as NAME=value on one line',
  ];
  // Any other name is probably a mistyped parameter, or it is a secret, which Firebase's tools refuse in these files.
  const others = Object.keys(parameters).filter((name) => !settings.some((param) => param.name === name));
  const unknown: Problem = [
    `${others.join(', ')}: not a parameter of these functions`,
    `correct the name in functions/.env or ${file}, or remove the line (API keys belong in the secret API_KEY)`,
  ];
  const elsewhere: Problem = [
    `firebase.json deploys the indexes to ${firestoreDatabase}, but the functions would not use that database`,
    'set "database" in firebase.json and DATABASE_ID to the same id',
  ];
  return [
    ['lines of the parameters', () => (invalidLines.length === 0 ? undefined : unreadable)],
    ['names of the parameters', () => (others.length === 0 ? undefined : unknown)],
    ...settings.map((param): Requirement => [`parameter ${param.name}`, () => findProblem(param)]),
    ['database of the indexes', () => (databaseId === firestoreDatabase ? undefined : elsewhere)],
  ];
}

/** Warns of a pause. This is only a warning, because a restore needs the pause. */
export const checkPause = (parameters: Deployment['parameters']): Requirement => [
  'pause of price lists',
  () => {
    const fix =
      'after the restore, set WRITES_PAUSED to false and deploy addPriceLists and sweepPriceLists: docs/runbook.md, section "Restore"';
    return parameters['WRITES_PAUSED'] === 'true' ? ['WRITES_PAUSED is true', fix] : undefined;
  },
];

function findValueProblem(
  { name, type }: ManifestParam,
  value: string,
  parameters: Deployment['parameters'],
): string | undefined {
  if (type === 'boolean' && value !== 'true' && value !== 'false')
    return `${JSON.stringify(value)} is not true or false`;
  if (type === 'int' && !/^\d+$/.test(value)) return `${JSON.stringify(value)} is not a whole number`;
  if (name === 'MAX_INSTANCES' && Number(value) === 0) return '0 would be no maximum at all';
  const maximum = parameters['MAX_INSTANCES'];
  if (name === 'MIN_INSTANCES' && Number(value) > Number(maximum)) return `${value} is above MAX_INSTANCES, ${maximum}`;
  if (name === 'DATABASE_ID' && !DATABASE_ID.test(value)) return `${JSON.stringify(value)} is not the id of a database`;
  if (name !== 'CORS_ALLOWED_ORIGINS') return undefined;
  const origins = value.split(',').map((origin) => origin.trim());
  const problems = origins.filter((origin) => origin !== '').map(findOriginProblem);
  return problems.find((problem) => problem !== undefined);
}
