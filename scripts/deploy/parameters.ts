import { findOriginProblem } from '../../functions/src/lib/origins';
import { DATABASE_ID, getDatabaseId, type Deployment } from './deployment';
import type { ManifestParam } from './manifest';
import type { Problem, Requirement } from './requirement';

/** Checks the parameters and the database of the indexes. Without a terminal, firebase-tools needs a value even if there is a default. */
export function listParameters(deployment: Deployment): Requirement[] {
  const { projectId, manifest, parameters, firestoreDatabase } = deployment;
  const file = `functions/.env.${projectId}`;
  const findProblem = (param: ManifestParam): Problem | undefined => {
    const value = parameters?.[param.name];
    if (value === undefined)
      return [`not in ${file}`, `echo '${param.name}=${String(param.default ?? '')}' >> ${file}`];
    const problem = findValueProblem(param, value, parameters);
    return problem === undefined ? undefined : [problem, `edit ${file}`];
  };
  const settings = manifest.params.filter(({ type }) => type !== 'secret');
  const databaseId = getDatabaseId(deployment);
  return [
    ...settings.map((param): Requirement => [`parameter ${param.name}`, () => Promise.resolve(findProblem(param))]),
    [
      'database of the indexes',
      () =>
        Promise.resolve(
          databaseId === firestoreDatabase
            ? undefined
            : [
                `firebase.json deploys them to ${firestoreDatabase}, the functions use ${databaseId}`,
                `set "database" in firebase.json to "${databaseId}"`,
              ],
        ),
    ],
  ];
}

/** Warns of a pause. This is only a warning, because a restore needs the pause. */
export const checkPause = (parameters: Deployment['parameters']): Requirement => [
  'pause of price lists',
  () => {
    const fix = 'after the restore, set it to false and deploy both functions: docs/runbook.md, section "Restore"';
    return Promise.resolve(parameters?.['WRITES_PAUSED'] === 'true' ? ['WRITES_PAUSED is true', fix] : undefined);
  },
];

function findValueProblem(
  { name, type }: ManifestParam,
  value: string,
  parameters: Deployment['parameters'],
): string | undefined {
  if (type === 'int' && !/^\d+$/.test(value)) return `${value} is not a number`;
  if (name === 'MAX_INSTANCES' && Number(value) === 0) return '0 would be no maximum at all';
  const maximum = parameters?.['MAX_INSTANCES'];
  if (name === 'MIN_INSTANCES' && Number(value) > Number(maximum)) return `${value} is above MAX_INSTANCES, ${maximum}`;
  if (name === 'DATABASE_ID' && !DATABASE_ID.test(value)) return `${value} is not the id of a database`;
  if (name !== 'CORS_ALLOWED_ORIGINS') return undefined;
  const origins = value.split(',').map((origin) => origin.trim());
  const problems = origins.filter((origin) => origin !== '').map(findOriginProblem);
  return problems.find((problem) => problem !== undefined);
}
