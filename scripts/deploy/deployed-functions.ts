import { listAll, type Requirement } from './requirement';
import type { AskGoogle } from './google-api';

/** Checks the functions that a project already has. */

interface DeployedFunction {
  name: string;
  serviceConfig?: {
    /** `projects/<project>/locations/<region>/services/<service>` */
    service?: string;
    serviceAccountEmail?: string;
    minInstanceCount?: number;
    secretEnvironmentVariables?: SecretVariable[];
  };
}

interface SecretVariable {
  key: string;
  version: string;
}

interface RunService {
  latestReadyRevision?: string;
  traffic?: { type: string; revision?: string; percent?: number }[];
}

interface Revision {
  containers?: { env?: { valueSource?: { secretKeyRef?: { secret: string; version: string } } }[] }[];
}

/** A function of this service, as it will be deployed. */
export interface WantedFunction {
  id: string;
  /** The account that it runs as. */
  email: string;
  isOperation: boolean;
}

export interface FunctionsContext {
  projectId: string;
  region: string;
  functions: WantedFunction[];
  ask: AskGoogle;
  find: Find;
}

type Find = (wanted: WantedFunction) => Promise<DeployedFunction | undefined>;

/** Returns a function that finds a deployed function. Its first call reads all of them. */
export function createFind({ projectId, region, ask }: Omit<FunctionsContext, 'find'>): Find {
  const path = `v2/projects/${projectId}/locations/${region}/functions?pageSize=1000`;
  let reading: Promise<DeployedFunction[]> | undefined;
  return async ({ id }) => {
    reading ??= listAll<DeployedFunction>(ask, 'cloudfunctions', path, 'functions');
    return (await reading).find(({ name }) => name.endsWith(`/${id}`));
  };
}

/** Finds other systems' functions with names of ours, which a deployment would overwrite. */
export const checkNames = ({ functions, find }: FunctionsContext): Requirement => [
  'names of the functions',
  async () => {
    const foreign: string[] = [];
    for (const each of functions) {
      const account = (await find(each))?.serviceConfig?.serviceAccountEmail;
      if (account !== undefined && account !== each.email) foreign.push(`${each.id} runs as ${account}`);
    }
    const fix = 'deploy to another project, or have the owner rename the function: a deployment overwrites it';
    return foreign.length === 0 ? undefined : [foreign.join(', '), fix];
  },
];

/** Warns of a higher minimum. firebase-tools asks before it raises the bill, and stops without a terminal (promptForMinInstances). */
export const checkMinimum = ({ functions, find }: FunctionsContext, wantedMinimum: number): Requirement => [
  'minimum of instances',
  async () => {
    const operations = functions.filter(({ isOperation }) => isOperation);
    const found = await Promise.all(wantedMinimum === 0 ? [] : operations.map(find));
    const rises = found.some((each) => (each?.serviceConfig?.minInstanceCount ?? 0) < wantedMinimum);
    const fix = 'without a terminal deploy the functions once with --force; in the workflow tick "Raise MIN_INSTANCES"';
    return rises ? [`rises to ${wantedMinimum}`, fix] : undefined;
  },
];

/**
 * Warns of revisions that serve after a rollback. A deployment may be what corrects the fault that was rolled back, so these
 * are not requirements.
 */
export function listServingRevisions(context: FunctionsContext): Requirement[] {
  const { projectId, region, ask } = context;
  const location = `projects/${projectId}/locations/${region}`;
  const toLatest = (services: string[]) =>
    `for service in ${services.join(' ')}; do gcloud run services update-traffic $service --to-latest --region ${region} --project ${projectId}; done`;
  return [
    [
      // While traffic is pinned, Cloud Run sends none to a new revision. firebase-tools never unpins it.
      'traffic',
      async () => {
        const pinned = (await readServing(context)).filter(({ isPinned }) => isPinned);
        const services = [...new Set(pinned.map(({ service }) => service))];
        const detail = `${pinned.map(({ revision }) => revision).join(', ')}: the next deployment receives no traffic`;
        return services.length === 0 ? undefined : [detail, toLatest(services)];
      },
    ],
    [
      'secret versions of the serving revisions',
      async () => {
        for (const { service, revision, current } of await readServing(context)) {
          const { containers = [] } =
            (await ask<Revision>('run', `v2/${location}/services/${service}/revisions/${revision}`)) ?? {};
          const references = containers.flatMap(({ env = [] }) =>
            env.flatMap(({ valueSource }) => valueSource?.secretKeyRef ?? []),
          );
          for (const { secret, version } of references) {
            const name = secret.split('/').at(-1) ?? '';
            const path = `v1/projects/${projectId}/secrets/${name}/versions/${version}`;
            const { state = 'not found' } = (await ask<{ state?: string }>('secretmanager', path)) ?? {};
            const needs = `${revision} needs version ${version} of ${name}`;
            if (state !== 'ENABLED')
              return [`${needs}, which is ${state}: no instance of it starts`, toLatest([service])];
            const isKept = current.some((each) => each.key === name && each.version === version);
            const fix = `before you prune, send traffic to the latest revision: ${toLatest([service])}`;
            if (!isKept) return [`${needs}, which \`firebase functions:secrets:prune\` would destroy`, fix];
          }
        }
        return undefined;
      },
    ],
  ];
}

/** Reads which revisions serve the functions of this service. */
async function readServing({ projectId, region, functions, ask, find }: FunctionsContext) {
  const found = await Promise.all(
    functions.map(async (each) => {
      const {
        service: path,
        serviceAccountEmail,
        secretEnvironmentVariables: current = [],
      } = (await find(each))?.serviceConfig ?? {};
      const service = path?.split('/').at(-1);
      if (service === undefined || serviceAccountEmail !== each.email) return [];
      const { latestReadyRevision, traffic = [] } =
        (await ask<RunService>('run', `v2/projects/${projectId}/locations/${region}/services/${service}`)) ?? {};
      const pinned = traffic.filter(({ type, percent = 0 }) => type.endsWith('_REVISION') && percent > 0);
      const revisions = pinned.length > 0 ? pinned.map(({ revision }) => revision) : [latestReadyRevision];
      return revisions.flatMap((revision) =>
        revision === undefined
          ? []
          : [{ service, revision: revision.split('/').at(-1) ?? '', isPinned: pinned.length > 0, current }],
      );
    }),
  );
  return found.flat();
}
