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
  };
}

interface RunService {
  traffic?: { type: string; revision?: string; percent?: number }[];
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
 * Warns of traffic that a rollback has bound to a revision: Cloud Run sends none to a new revision, and firebase-tools never
 * changes that. A deployment may be what corrects the fault that was rolled back, so this is not a requirement.
 */
export const checkTraffic = (context: FunctionsContext): Requirement => [
  'traffic',
  async () => {
    const bound = await listBound(context);
    if (bound.length === 0) return undefined;
    const { projectId, region } = context;
    const services = [...new Set(bound.map(({ service }) => service))].join(' ');
    const revisions = bound.map(({ revision }) => revision).join(', ');
    const detail = `${revisions}: the next deployment receives no traffic, and functions:secrets:prune may destroy the API keys that this needs`;
    const toLatest = `gcloud run services update-traffic $service --to-latest --region ${region} --project ${projectId}`;
    return [detail, `for service in ${services}; do ${toLatest}; done`];
  },
];

/** Lists the revisions of this service's functions that traffic is bound to. */
async function listBound({ functions, ask, find }: FunctionsContext) {
  const found = await Promise.all(
    functions.map(async (each) => {
      const { service, serviceAccountEmail } = (await find(each))?.serviceConfig ?? {};
      if (service === undefined || serviceAccountEmail !== each.email) return [];
      const { traffic = [] } = (await ask<RunService>('run', `v2/${service}`)) ?? {};
      const bound = traffic.filter(({ type, percent = 0 }) => type.endsWith('_REVISION') && percent > 0);
      return bound.map(({ revision = '' }) => ({
        service: service.split('/').at(-1),
        revision: revision.split('/').at(-1),
      }));
    }),
  );
  return found.flat();
}
