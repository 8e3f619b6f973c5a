import { REGION } from '../../functions/src/lib/region';
import { getEmail, type Deployment } from './deployment';
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
    secretEnvironmentVariables?: { key: string; version: string }[];
  };
}

interface RunService {
  traffic?: { type: string; revision?: string; percent?: number }[];
}

/** Returns a function that reads, only once, what is deployed under the names of our functions. */
export function createFunctionReader(deployment: Deployment, ask: AskGoogle) {
  let deployed: ReturnType<typeof readDeployed> | undefined;
  return () => (deployed ??= readDeployed(deployment, ask));
}

export type FunctionReader = ReturnType<typeof createFunctionReader>;

async function readDeployed({ projectId, manifest }: Deployment, ask: AskGoogle) {
  const path = `v2/projects/${projectId}/locations/${REGION}/functions?pageSize=1000`;
  const found = await listAll<DeployedFunction>(ask, 'cloudfunctions', path, 'functions');
  return Object.entries(manifest.endpoints).map(([id, endpoint]) => {
    const { serviceConfig } = found.find(({ name }) => name.endsWith(`/${id}`)) ?? {};
    const account = serviceConfig?.serviceAccountEmail;
    const isForeign = account !== undefined && account !== getEmail(endpoint, projectId);
    return { id, isOperation: endpoint.httpsTrigger !== undefined, isForeign, ...serviceConfig };
  });
}

/** Finds functions that have names of ours but another account. They belong to other systems, and a deployment would overwrite them. */
export const checkNames = (readFunctions: FunctionReader): Requirement => [
  'names of the functions',
  async () => {
    const foreign = (await readFunctions()).filter(({ isForeign }) => isForeign);
    const detail = foreign.map(({ id, serviceAccountEmail }) => `${id} runs as ${serviceAccountEmail}`).join(', ');
    const fix = 'deploy to another project, or have the owner rename the function: a deployment overwrites it';
    return foreign.length === 0 ? undefined : [detail, fix];
  },
];

/** Warns of a higher minimum. firebase-tools asks before it raises the bill, and stops without a terminal (promptForMinInstances). */
export const checkMinimum = ({ parameters }: Deployment, readFunctions: FunctionReader): Requirement => [
  'minimum of instances',
  async () => {
    const wanted = Number(parameters['MIN_INSTANCES'] ?? 0);
    const operations = (await readFunctions()).filter(({ isOperation }) => isOperation);
    const rises = operations.some(({ minInstanceCount = 0 }) => minInstanceCount < wanted);
    const fix = 'without a terminal deploy the functions once with --force; in the workflow tick "Raise MIN_INSTANCES"';
    return rises ? [`rises to ${wanted}`, fix] : undefined;
  },
];

/**
 * Warns of traffic that a rollback has bound to a revision: Cloud Run then sends none to a new revision, and firebase-tools never
 * changes that. This is only a warning, because the deployment can correct the fault that caused the rollback.
 */
export const checkTraffic = ({ projectId }: Deployment, readFunctions: FunctionReader, ask: AskGoogle): Requirement => [
  'traffic',
  async () => {
    const services: string[] = [];
    const revisions: string[] = [];
    for (const { service, isForeign } of await readFunctions()) {
      if (service === undefined || isForeign) continue;
      const { traffic = [] } = (await ask<RunService>('run', `v2/${service}`)) ?? {};
      const bound = traffic.filter(({ type, percent = 0 }) => type.endsWith('_REVISION') && percent > 0);
      revisions.push(...bound.map(({ revision = '' }) => revision.split('/').at(-1) ?? ''));
      if (bound.length > 0) services.push(service.split('/').at(-1) ?? '');
    }
    if (services.length === 0) return undefined;
    const detail = `${revisions.join(', ')}: the next deployment receives no traffic, and functions:secrets:prune can destroy the API keys that these revisions need`;
    const toLatest = `gcloud run services update-traffic $service --to-latest --region ${REGION} --project ${projectId}`;
    return [detail, `for service in ${services.join(' ')}; do ${toLatest}; done`];
  },
];
