import { findOriginProblem } from '../../functions/src/lib/origins';
import type { ApiResult, CallGoogle } from './google-api';
import type { DeployManifest, ManifestParam } from './manifest';

/** One line of the result. `fix` is the command that supplies what is missing. */
export type Finding = { subject: string } & State;

type State =
  | { kind: 'ok'; detail: string }
  | { kind: 'missing'; detail: string; fix: string }
  | { kind: 'unknown'; detail: string };

/** What a deployment consists of, read from the repository. */
export interface Deployment {
  projectId: string;
  manifest: DeployManifest;
  /** `runtime` of firebase.json. */
  runtime: string;
  indexes: DeclaredIndexes;
  /** Contents of functions/.env.<project>; undefined without such a file. */
  parameters: Record<string, string> | undefined;
}

export interface DeclaredIndexes {
  indexes: { collectionGroup: string; queryScope: string; fields: IndexField[] }[];
  fieldOverrides: { collectionGroup: string; fieldPath: string }[];
}

interface IndexField {
  fieldPath: string;
  order?: string;
}

const REGION = 'us-central1';

/** Services that a deployment needs, beside those that the functions ask for. */
const SERVICES =
  'artifactregistry cloudbuild cloudfunctions eventarc firebaserules firestore pubsub run secretmanager storage';

/** Permissions that firebase-tools asks for or uses, by the role that has them. */
const DEPLOYER_PERMISSIONS: Record<string, string[]> = {
  'roles/firebase.viewer': ['firebase.projects.get'],
  'roles/cloudfunctions.admin': [
    ...toPermissions('cloudfunctions.functions', 'create delete get list setIamPolicy update'),
    ...['cloudfunctions.operations.get', 'run.services.setIamPolicy'],
  ],
  'roles/cloudscheduler.admin': toPermissions('cloudscheduler.jobs', 'create delete get update'),
  'roles/datastore.indexAdmin': toPermissions('datastore.indexes', 'create delete list update'),
  'roles/firebaserules.admin': [
    ...toPermissions('firebaserules.releases', 'create update'),
    'firebaserules.rulesets.create',
  ],
  'roles/secretmanager.admin': [
    ...toPermissions('secretmanager.secrets', 'get getIamPolicy setIamPolicy'),
    'secretmanager.versions.get',
  ],
  'roles/serviceusage.serviceUsageAdmin': toPermissions('serviceusage.services', 'enable get use'),
};

function toPermissions(resource: string, verbs: string): string[] {
  return verbs.split(' ').map((verb) => `${resource}.${verb}`);
}

/** Roles of the service accounts, by name, and the broader roles that include each. */
const ACCOUNT_ROLES: Record<string, [role: string, ...broader: string[]]> = {
  'organisation-data-reader': ['roles/datastore.viewer', 'roles/datastore.user', 'roles/datastore.owner'],
  'price-lists-writer': ['roles/datastore.user', 'roles/datastore.owner'],
};

const ok = (detail: string): State => ({ kind: 'ok', detail });
const missing = (detail: string, fix: string): State => ({ kind: 'missing', detail, fix });

/** Runs every check. Nothing is changed. */
export async function runChecks(deployment: Deployment, call: CallGoogle): Promise<Finding[]> {
  const checks = [checkParameters, checkProject, checkServices, checkAccounts, checkFirestore, checkDeployer];
  return Promise.all(checks.flatMap((check) => check(deployment, call)));
}

/** @param toState gets undefined when Google does not know the resource */
async function find<T>(subject: string, call: Promise<ApiResult<T>>, toState: (body?: T) => State): Promise<Finding> {
  const result = await call;
  if (result.kind === 'unreachable') return { subject, kind: 'unknown', detail: result.reason };
  return { subject, ...toState(result.kind === 'found' ? result.body : undefined) };
}

/** Without a terminal firebase-tools stops at a parameter that has no value, even at one with a default. */
function checkParameters({ projectId, manifest, parameters }: Deployment): Promise<Finding>[] {
  const file = `functions/.env.${projectId}`;
  const toState = (param: ManifestParam): State => {
    const value = parameters?.[param.name];
    const fix = `echo '${param.name}=${String(param.default ?? '')}' >> ${file}`;
    if (value === undefined) return missing(`not in ${file}`, fix);
    const problem = findParameterProblem(param, value);
    return problem === undefined ? ok(value === '' ? 'empty' : value) : missing(problem, `edit ${file}`);
  };
  const settings = manifest.params.filter(({ type }) => type !== 'secret');
  return settings.map((param) => Promise.resolve({ subject: `parameter ${param.name}`, ...toState(param) }));
}

function findParameterProblem({ name, type }: ManifestParam, value: string): string | undefined {
  if (type === 'int' && !/^\d+$/.test(value)) return `${value} is no number`;
  if (name !== 'CORS_ALLOWED_ORIGINS') return undefined;
  const origins = value.split(',').map((origin) => origin.trim());
  const problems = origins.filter((origin) => origin !== '').map(findOriginProblem);
  return problems.find((problem) => problem !== undefined);
}

function checkProject({ projectId, manifest }: Deployment, call: CallGoogle): Promise<Finding>[] {
  const path = `v1/projects/${projectId}`;
  const project = call<{ lifecycleState: string }>('cloudresourcemanager', path);
  const billing = call<{ billingEnabled?: boolean }>('cloudbilling', `${path}/billingInfo`);
  const secrets = manifest.params.filter(({ type }) => type === 'secret');
  return [
    find(`project ${projectId}`, project, (body) => {
      if (body?.lifecycleState === 'ACTIVE') return ok('active');
      const fix = body === undefined ? 'firebase projects:create' : 'gcloud projects undelete';
      return missing(body?.lifecycleState ?? 'not found', `${fix} ${projectId}`);
    }),
    find('billing', billing, (body) => {
      const fix = `gcloud billing projects link ${projectId} --billing-account=<account>`;
      return body?.billingEnabled === true ? ok('enabled') : missing('not enabled', fix);
    }),
    ...secrets.map(({ name }) => {
      const latest = call<{ state: string }>('secretmanager', `${path}/secrets/${name}/versions/latest`);
      return find(`secret ${name}`, latest, (body) => {
        if (body?.state === 'ENABLED') return ok('the latest version is enabled');
        const problem = body === undefined ? 'has no version' : `the latest version is ${body.state}`;
        return missing(problem, `firebase functions:secrets:set ${name} --project ${projectId}`);
      });
    }),
  ];
}

function checkServices({ projectId, manifest, runtime }: Deployment, call: CallGoogle): Promise<Finding>[] {
  const location = `projects/${projectId}/locations/${REGION}`;
  const required = SERVICES.split(' ').map((name) => `${name}.googleapis.com`);
  required.push(...manifest.requiredAPIs.map(({ api }) => api));
  const names = required.map((service) => `names=projects/${projectId}/services/${service}`).join('&');
  const services = call<{ services: { name: string; state: string }[] }>(
    'serviceusage',
    `v1/projects/${projectId}/services:batchGet?${names}`,
  );
  const runtimes = call<{ runtimes: { name: string; stage: string }[] }>(
    'cloudfunctions',
    `v2/${location}/runtimes?pageSize=200`,
  );
  return [
    find('services', services, (body) => {
      const isEnabled = (service: string) =>
        body?.services.some(({ name, state }) => name.endsWith(`/${service}`) && state === 'ENABLED') === true;
      const disabled = required.filter((service) => !isEnabled(service));
      const fix = `gcloud services enable ${disabled.join(' ')} --project ${projectId}`;
      return disabled.length === 0 ? ok(`${required.length} enabled`) : missing(disabled.join(', '), fix);
    }),
    find(`runtime ${runtime}`, runtimes, (body) => {
      const stage = body?.runtimes.find(({ name }) => name === runtime)?.stage;
      const fix = 'set "runtime" in firebase.json and the version in .nvmrc to one that the region offers';
      return stage === 'GA' ? ok(`offered in ${REGION}`) : missing(stage ?? `not in ${REGION}`, fix);
    }),
    find('Cloud Scheduler', call('cloudscheduler', `v1/${location}`), (body) => {
      const fix = 'deploy the functions to a region that has Cloud Scheduler';
      return body === undefined ? missing(`not in ${REGION}`, fix) : ok(`offered in ${REGION}`);
    }),
  ];
}

const listAccounts = ({ manifest: { endpoints }, projectId }: Deployment): string[] => {
  const emails = Object.values(endpoints).map(({ serviceAccountEmail }) => serviceAccountEmail);
  return [...new Set(emails)].map((email) => email.replace('{{ params.PROJECT_ID }}', projectId));
};

const grantInProject = (projectId: string, member: string, role: string): string =>
  `gcloud projects add-iam-policy-binding ${projectId} --condition=None --member=${member} --role=${role}`;

/** The accounts of the functions with their roles, and the agent as which Cloud Scheduler calls the scheduled one. */
function checkAccounts(deployment: Deployment, call: CallGoogle): Promise<Finding>[] {
  const { projectId } = deployment;
  const path = `v1/projects/${projectId}`;
  interface Policy {
    bindings?: { role: string; members: string[] }[];
  }
  const policy = call<Policy>('cloudresourcemanager', `${path}:getIamPolicy`, {});
  const findRole = (member: string, ending: string, [role, ...broader]: readonly [string, ...string[]]) =>
    find(`${role} of ${member}`, policy, (body) => {
      const bindings = body?.bindings?.filter((each) => [role, ...broader].includes(each.role)) ?? [];
      const isGranted = bindings.some(({ members }) => members.some((each) => each.endsWith(ending)));
      const fix = grantInProject(projectId, `serviceAccount:${member}`, role);
      return isGranted ? ok('granted') : missing('not granted', fix);
    });
  const accounts = listAccounts(deployment).flatMap((email) => {
    const [name = ''] = email.split('@');
    const account = call<{ disabled?: boolean }>('iam', `${path}/serviceAccounts/${email}`);
    const roles = ACCOUNT_ROLES[name];
    if (roles === undefined) throw new Error(`The role of ${email} is not in ACCOUNT_ROLES.`);
    return [
      find(`service account ${email}`, account, (body) => {
        const manage = (verb: string) => `gcloud iam service-accounts ${verb} --project ${projectId}`;
        if (body === undefined) return missing('not found', manage(`create ${name}`));
        return body.disabled === true ? missing('disabled', manage(`enable ${email}`)) : ok('exists');
      }),
      findRole(email, `:${email}`, roles),
    ];
  });
  const agent = '@gcp-sa-cloudscheduler.iam.gserviceaccount.com';
  const agentRole = findRole(`service-<project number>${agent}`, agent, ['roles/cloudscheduler.serviceAgent']);
  return [...accounts, agentRole];
}

function checkFirestore({ projectId, indexes: declared }: Deployment, call: CallGoogle): Promise<Finding>[] {
  const path = `v1/projects/${projectId}/databases/(default)`;
  const group = `${path}/collectionGroups/-`;
  const filter = encodeURIComponent('indexConfig.usesAncestorConfig:false');
  const database = call<{ type: string }>('firestore', path);
  type StoredIndex = Pick<DeclaredIndexes['indexes'][number], 'queryScope' | 'fields'> & {
    name: string;
    state: string;
  };
  const indexes = call<{ indexes?: StoredIndex[] }>('firestore', `${group}/indexes`);
  const fields = call<{ fields?: { name: string }[] }>('firestore', `${group}/fields?filter=${filter}`);
  const deploy = `firebase deploy --only firestore:indexes --project ${projectId}`;
  return [
    find('database (default)', database, (body) => {
      if (body?.type === 'FIRESTORE_NATIVE') return ok('in Native mode');
      const command = body === undefined ? 'create --location=nam5' : 'update';
      const fix = `gcloud firestore databases ${command} --type=firestore-native --project ${projectId}`;
      return missing(body?.type ?? 'not found', fix);
    }),
    ...declared.indexes.map(({ collectionGroup, queryScope, fields }) => {
      const wanted = describeIndex(collectionGroup, queryScope, fields);
      return find(`index ${wanted}`, indexes, (body) => {
        const stored = body?.indexes?.find(
          ({ name, queryScope, fields }) => describeIndex(name.split('/').at(-3) ?? '', queryScope, fields) === wanted,
        );
        if (stored?.state === 'READY') return ok('ready');
        if (stored?.state === 'CREATING') return missing('being built', 'wait, and run this command again');
        return missing(stored?.state ?? 'not found', deploy);
      });
    }),
    find('index exemptions', fields, (body) => {
      const exemptions = declared.fieldOverrides.map((each) => `${each.collectionGroup}/fields/${each.fieldPath}`);
      const isSet = (field: string) => body?.fields?.some(({ name }) => name.endsWith(`/${field}`)) === true;
      const lacking = exemptions.filter((field) => !isSet(field));
      return lacking.length === 0 ? ok(`${exemptions.length} set`) : missing(lacking.join(', '), deploy);
    }),
  ];
}

/** Firestore adds `__name__` to each index that it stores. */
function describeIndex(collectionGroup: string, queryScope: string, fields: IndexField[]): string {
  const own = fields.filter(({ fieldPath }) => fieldPath !== '__name__');
  return [`${collectionGroup} (${queryScope})`, ...own.map((each) => `${each.fieldPath} ${each.order ?? ''}`)].join(
    ', ',
  );
}

/** Permissions of the credentials that this command runs with. */
function checkDeployer(deployment: Deployment, call: CallGoogle): Promise<Finding>[] {
  const { projectId } = deployment;
  const path = `v1/projects/${projectId}`;
  const test = (api: string, resource: string, permissions: string[]) =>
    call<{ permissions?: string[] }>(api, `${resource}:testIamPermissions`, { permissions });
  const granted = test('cloudresourcemanager', path, Object.values(DEPLOYER_PERMISSIONS).flat());
  const roles = Object.entries(DEPLOYER_PERMISSIONS).map(([role, permissions]) =>
    find(`deployer: ${role}`, granted, (body) => {
      const lacking = permissions.filter((permission) => body?.permissions?.includes(permission) !== true);
      const fix = grantInProject(projectId, '<deployer>', role);
      return lacking.length === 0 ? ok('granted') : missing(`lacks ${lacking.join(', ')}`, fix);
    }),
  );
  // firebase-tools also asks for App Engine's default account, where there is one.
  const appEngine = `${projectId}@appspot.gserviceaccount.com`;
  const accounts = [...listAccounts(deployment), appEngine].map((email) => {
    const account = test('iam', `${path}/serviceAccounts/${email}`, ['iam.serviceAccounts.actAs']);
    return find(`deployer: acts as ${email}`, account, (body) => {
      if (body === undefined && email === appEngine) return ok('no such account: not needed');
      if (body?.permissions?.length === 1) return ok('granted');
      const grant = `gcloud iam service-accounts add-iam-policy-binding ${email} --project ${projectId}`;
      const fix = `${grant} --member=<deployer> --role=roles/iam.serviceAccountUser`;
      return missing(body === undefined ? 'no such account' : 'not granted', fix);
    });
  });
  return [...roles, ...accounts];
}
