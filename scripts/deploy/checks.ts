import type { ApiResult, CallGoogle } from './google-api';
import type { DeployManifest, ManifestParam } from './manifest';
import { planServiceAccounts } from './plan';
import { findOriginProblem } from '../../functions/src/lib/origins';

/** One line of the result. `fix` is the command that supplies what is missing. */
export type Finding =
  | { kind: 'ok'; subject: string; detail: string }
  | { kind: 'missing'; subject: string; detail: string; fix: string }
  | { kind: 'unknown'; subject: string; detail: string };

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
  fieldOverrides: { collectionGroup: string; fieldPath: string; indexes: unknown[] }[];
}

interface IndexField {
  fieldPath: string;
  order?: string;
  arrayConfig?: string;
}

const REGION = 'us-central1';
const DATABASE = '(default)';

/** Services that firebase-tools enables when they are not: lib/deploy/functions/prepare.js, lib/deploy/firestore/prepare.js. */
const SERVICES = [
  'artifactregistry.googleapis.com',
  'cloudbuild.googleapis.com',
  'cloudfunctions.googleapis.com',
  'eventarc.googleapis.com',
  'firebaserules.googleapis.com',
  'firestore.googleapis.com',
  'pubsub.googleapis.com',
  'run.googleapis.com',
  'secretmanager.googleapis.com',
  'storage.googleapis.com',
];

/** Permissions of the deployer, by the role that has them: lib/deploy/index.js, `TARGET_PERMISSIONS`, and what each step calls. */
const DEPLOYER_PERMISSIONS: Record<string, string[]> = {
  'roles/firebase.viewer': ['firebase.projects.get'],
  'roles/cloudfunctions.admin': [
    'cloudfunctions.functions.create',
    'cloudfunctions.functions.delete',
    'cloudfunctions.functions.get',
    'cloudfunctions.functions.list',
    // Demanded for new HTTPS functions: lib/deploy/functions/checkIam.js, `checkHttpIam`.
    'cloudfunctions.functions.setIamPolicy',
    'cloudfunctions.functions.update',
    'cloudfunctions.operations.get',
    'run.services.setIamPolicy',
  ],
  'roles/datastore.indexAdmin': [
    'datastore.indexes.create',
    'datastore.indexes.delete',
    'datastore.indexes.list',
    'datastore.indexes.update',
  ],
  'roles/firebaserules.admin': [
    'firebaserules.releases.create',
    'firebaserules.releases.update',
    'firebaserules.rulesets.create',
  ],
  'roles/secretmanager.admin': [
    'secretmanager.secrets.get',
    'secretmanager.secrets.getIamPolicy',
    'secretmanager.secrets.setIamPolicy',
    'secretmanager.versions.get',
  ],
  'roles/serviceusage.serviceUsageAdmin': [
    'serviceusage.services.enable',
    'serviceusage.services.get',
    'serviceusage.services.use',
  ],
};

/** Roles of the service accounts, by name, and the broader roles that include each. */
const ACCOUNT_ROLES: Record<string, [role: string, ...broader: string[]]> = {
  'organisation-data-reader': ['roles/datastore.viewer', 'roles/datastore.user', 'roles/datastore.owner'],
  'price-lists-writer': ['roles/datastore.user', 'roles/datastore.owner'],
};

type Check = (deployment: Deployment, call: CallGoogle) => Promise<Finding[]> | Finding[];

/** Runs every check. Nothing is changed. */
export async function runChecks(deployment: Deployment, call: CallGoogle): Promise<Finding[]> {
  const findings = [];
  for (const check of CHECKS) findings.push(...(await check(deployment, call)));
  return findings;
}

const CHECKS: Check[] = [
  checkParameters,
  checkRuntime,
  checkProject,
  checkBilling,
  checkServices,
  checkServiceAccounts,
  checkAccountRoles,
  checkSecret,
  checkDatabase,
  checkIndexes,
  checkFieldOverrides,
  checkDeployer,
  checkActAs,
];

const ok = (subject: string, detail: string): Finding => ({ kind: 'ok', subject, detail });
const missing = (subject: string, detail: string, fix: string): Finding => ({ kind: 'missing', subject, detail, fix });

/** A finding from a response, `unknown` when there was none. */
function toFinding<T>(
  subject: string,
  result: ApiResult<T>,
  whenNotFound: () => Finding,
  whenFound: (body: T) => Finding,
): Finding {
  if (result.kind === 'unreachable') return { kind: 'unknown', subject, detail: result.reason };
  return result.kind === 'not-found' ? whenNotFound() : whenFound(result.body);
}

/** Without a terminal firebase-tools stops at a parameter that has no value, even at one with a default. */
function checkParameters({ projectId, manifest, parameters }: Deployment): Finding[] {
  const file = `functions/.env.${projectId}`;
  return manifest.params
    .filter(({ type }) => type !== 'secret')
    .map((param) => {
      const subject = `parameter ${param.name}`;
      const value = parameters?.[param.name];
      const fix = `echo '${param.name}=${String(param.default ?? '')}' >> ${file}`;
      if (value === undefined) return missing(subject, `not in ${file}`, fix);
      const problem = findParameterProblem(param, value);
      return problem === undefined
        ? ok(subject, value === '' ? 'empty' : value)
        : missing(subject, problem, `edit ${file}`);
    });
}

function findParameterProblem({ name, type }: ManifestParam, value: string): string | undefined {
  if (type === 'int' && !/^\d+$/.test(value)) return `${value} is no number`;
  if (name !== 'CORS_ALLOWED_ORIGINS') return undefined;
  const origins = value.split(',').map((origin) => origin.trim());
  return origins
    .filter((origin) => origin !== '')
    .map(findOriginProblem)
    .find((problem) => problem !== undefined);
}

async function checkRuntime({ projectId, runtime }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const subject = `runtime ${runtime}`;
  const path = `v2/projects/${projectId}/locations/${REGION}/runtimes?pageSize=200`;
  const result = await call<{ runtimes?: { name: string; stage: string; deprecationDate?: object }[] }>(
    'cloudfunctions.googleapis.com',
    path,
  );
  const fix = 'set "runtime" in firebase.json and the version in .nvmrc to one that the region offers';
  return [
    toFinding(
      subject,
      result,
      () => missing(subject, `${REGION} offers none`, fix),
      ({ runtimes = [] }) => {
        const stage = runtimes.find(({ name }) => name === runtime)?.stage;
        return stage === 'GA'
          ? ok(subject, `offered in ${REGION}`)
          : missing(subject, stage ?? `not in ${REGION}`, fix);
      },
    ),
  ];
}

async function checkProject({ projectId }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const subject = `project ${projectId}`;
  const result = await call<{ lifecycleState: string }>(
    'cloudresourcemanager.googleapis.com',
    `v1/projects/${projectId}`,
  );
  const create = `firebase projects:create ${projectId}`;
  return [
    toFinding(
      subject,
      result,
      () => missing(subject, 'not found', create),
      ({ lifecycleState }) =>
        lifecycleState === 'ACTIVE'
          ? ok(subject, 'active')
          : missing(subject, lifecycleState, `gcloud projects undelete ${projectId}`),
    ),
  ];
}

async function checkBilling({ projectId }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const result = await call<{ billingEnabled?: boolean }>(
    'cloudbilling.googleapis.com',
    `v1/projects/${projectId}/billingInfo`,
  );
  const none = () =>
    missing('billing', 'not enabled', `gcloud billing projects link ${projectId} --billing-account=<account>`);
  return [
    toFinding('billing', result, none, ({ billingEnabled }) =>
      billingEnabled === true ? ok('billing', 'enabled') : none(),
    ),
  ];
}

async function checkServices({ projectId }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const names = SERVICES.map((service) => `names=projects/${projectId}/services/${service}`).join('&');
  const result = await call<{ services?: { name: string; state: string }[] }>(
    'serviceusage.googleapis.com',
    `v1/projects/${projectId}/services:batchGet?${names}`,
  );
  const enable = (services: string[]) => `gcloud services enable ${services.join(' ')} --project ${projectId}`;
  return [
    toFinding(
      'services',
      result,
      () => missing('services', 'none enabled', enable(SERVICES)),
      ({ services = [] }) => {
        const enabled = services.filter(({ state }) => state === 'ENABLED').map(({ name }) => name.split('/').at(-1));
        const disabled = SERVICES.filter((service) => !enabled.includes(service));
        return disabled.length === 0
          ? ok('services', `${SERVICES.length} enabled`)
          : missing('services', disabled.join(', '), enable(disabled));
      },
    ),
  ];
}

async function checkServiceAccounts({ projectId, manifest }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const findings = [];
  for (const email of planServiceAccounts(manifest, projectId)) {
    const subject = `service account ${email}`;
    const path = `v1/projects/${projectId}/serviceAccounts/${email}`;
    const create = `gcloud iam service-accounts create ${getAccountName(email)} --project ${projectId}`;
    const enable = `gcloud iam service-accounts enable ${email} --project ${projectId}`;
    findings.push(
      toFinding(
        subject,
        await call<{ disabled?: boolean }>('iam.googleapis.com', path),
        () => missing(subject, 'not found', create),
        ({ disabled }) => (disabled === true ? missing(subject, 'disabled', enable) : ok(subject, 'exists')),
      ),
    );
  }
  return findings;
}

const getAccountName = (email: string): string => email.slice(0, email.indexOf('@'));

async function checkAccountRoles({ projectId, manifest }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const result = await call<{ bindings?: { role: string; members: string[] }[] }>(
    'cloudresourcemanager.googleapis.com',
    `v1/projects/${projectId}:getIamPolicy`,
    {},
  );
  return planServiceAccounts(manifest, projectId).map((email) => {
    const roles = ACCOUNT_ROLES[getAccountName(email)];
    if (roles === undefined) throw new Error(`The role of ${email} is not in ACCOUNT_ROLES.`);
    const subject = `${roles[0]} of ${email}`;
    const grant =
      `gcloud projects add-iam-policy-binding ${projectId} --condition=None ` +
      `--member=serviceAccount:${email} --role=${roles[0]}`;
    return toFinding(
      subject,
      result,
      () => missing(subject, 'not granted', grant),
      ({ bindings = [] }) =>
        bindings.some(({ role, members }) => roles.includes(role) && members.includes(`serviceAccount:${email}`))
          ? ok(subject, 'granted')
          : missing(subject, 'not granted', grant),
    );
  });
}

async function checkSecret({ projectId, manifest }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const findings = [];
  for (const { name } of manifest.params.filter(({ type }) => type === 'secret')) {
    const subject = `secret ${name}`;
    const set = `firebase functions:secrets:set ${name} --project ${projectId}`;
    const path = `v1/projects/${projectId}/secrets/${name}/versions/latest`;
    findings.push(
      toFinding(
        subject,
        await call<{ name: string; state: string }>('secretmanager.googleapis.com', path),
        () => missing(subject, 'has no version', set),
        (version) =>
          version.state === 'ENABLED'
            ? ok(subject, `version ${version.name.split('/').at(-1) ?? ''} is enabled`)
            : missing(subject, `the latest version is ${version.state}`, set),
      ),
    );
  }
  return findings;
}

async function checkDatabase({ projectId }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const subject = `database ${DATABASE}`;
  const create = `gcloud firestore databases create --location=nam5 --type=firestore-native --project ${projectId}`;
  const result = await call<{ type: string }>(
    'firestore.googleapis.com',
    `v1/projects/${projectId}/databases/${DATABASE}`,
  );
  return [
    toFinding(
      subject,
      result,
      () => missing(subject, 'not found', create),
      ({ type }) =>
        type === 'FIRESTORE_NATIVE'
          ? ok(subject, 'in Native mode')
          : missing(subject, type, `gcloud firestore databases update --type=firestore-native --project ${projectId}`),
    ),
  ];
}

async function checkIndexes({ projectId, indexes: declared }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const result = await call<{ indexes?: { name: string; queryScope: string; state: string; fields: IndexField[] }[] }>(
    'firestore.googleapis.com',
    `v1/projects/${projectId}/databases/${DATABASE}/collectionGroups/-/indexes`,
  );
  const deploy = `firebase deploy --only firestore:indexes --project ${projectId}`;
  return declared.indexes.map(({ collectionGroup, queryScope, fields }) => {
    const wanted = describeIndex(collectionGroup, queryScope, fields);
    return toFinding(
      `index ${wanted}`,
      result,
      () => missing(`index ${wanted}`, 'not found', deploy),
      ({ indexes = [] }) => {
        const found = indexes.find(
          (index) => describeIndex(index.name.split('/').at(-3) ?? '', index.queryScope, index.fields) === wanted,
        );
        if (found?.state === 'READY') return ok(`index ${wanted}`, 'ready');
        if (found?.state === 'CREATING')
          return missing(`index ${wanted}`, 'being built', `gcloud firestore operations list --project ${projectId}`);
        return missing(`index ${wanted}`, found?.state ?? 'not found', deploy);
      },
    );
  });
}

/** Firestore adds `__name__` to each index that it stores. */
const describeIndex = (collectionGroup: string, queryScope: string, fields: IndexField[]): string =>
  [
    `${collectionGroup} (${queryScope})`,
    ...fields
      .filter(({ fieldPath }) => fieldPath !== '__name__')
      .map(({ fieldPath, order, arrayConfig }) => `${fieldPath} ${order ?? arrayConfig ?? ''}`),
  ].join(', ');

async function checkFieldOverrides({ projectId, indexes }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const subject = 'index exemptions';
  const filter = encodeURIComponent('indexConfig.usesAncestorConfig:false');
  const result = await call<{ fields?: { name: string }[] }>(
    'firestore.googleapis.com',
    `v1/projects/${projectId}/databases/${DATABASE}/collectionGroups/-/fields?filter=${filter}`,
  );
  const deploy = `firebase deploy --only firestore:indexes --project ${projectId}`;
  const wanted = indexes.fieldOverrides.map(
    ({ collectionGroup, fieldPath }) => `${collectionGroup}/fields/${fieldPath}`,
  );
  return [
    toFinding(
      subject,
      result,
      () => missing(subject, wanted.join(', '), deploy),
      ({ fields = [] }) => {
        const lacking = wanted.filter((path) => !fields.some(({ name }) => name.endsWith(`/collectionGroups/${path}`)));
        return lacking.length === 0
          ? ok(subject, `${wanted.length} set`)
          : missing(subject, lacking.join(', '), deploy);
      },
    ),
  ];
}

/** Permissions of the credentials that this command runs with. */
async function checkDeployer({ projectId }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const result = await call<{ permissions?: string[] }>(
    'cloudresourcemanager.googleapis.com',
    `v1/projects/${projectId}:testIamPermissions`,
    { permissions: Object.values(DEPLOYER_PERMISSIONS).flat() },
  );
  return Object.entries(DEPLOYER_PERMISSIONS).map(([role, permissions]) => {
    const subject = `deployer: ${role}`;
    const grant = `gcloud projects add-iam-policy-binding ${projectId} --condition=None --member=<deployer> --role=${role}`;
    return toFinding(
      subject,
      result,
      () => missing(subject, 'not granted', grant),
      ({ permissions: granted = [] }) => {
        const lacking = permissions.filter((permission) => !granted.includes(permission));
        return lacking.length === 0 ? ok(subject, 'granted') : missing(subject, `lacks ${lacking.join(', ')}`, grant);
      },
    );
  });
}

/** The deployer acts as the account of each function; firebase-tools also asks for App Engine's default account, where there is one. */
async function checkActAs({ projectId, manifest }: Deployment, call: CallGoogle): Promise<Finding[]> {
  const appEngine = `${projectId}@appspot.gserviceaccount.com`;
  const findings = [];
  for (const email of [...planServiceAccounts(manifest, projectId), appEngine]) {
    const subject = `deployer: acts as ${email}`;
    const grant =
      `gcloud iam service-accounts add-iam-policy-binding ${email} --project ${projectId} ` +
      '--member=<deployer> --role=roles/iam.serviceAccountUser';
    const path = `v1/projects/${projectId}/serviceAccounts/${email}:testIamPermissions`;
    const result = await call<{ permissions?: string[] }>('iam.googleapis.com', path, {
      permissions: ['iam.serviceAccounts.actAs'],
    });
    findings.push(
      toFinding(
        subject,
        result,
        () =>
          email === appEngine ? ok(subject, 'no such account: not needed') : missing(subject, 'no such account', grant),
        ({ permissions = [] }) =>
          permissions.length > 0 ? ok(subject, 'granted') : missing(subject, 'not granted', grant),
      ),
    );
  }
  return findings;
}
