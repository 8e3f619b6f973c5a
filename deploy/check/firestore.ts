import { getDatabaseId, type Deployment, type IndexField } from './deployment';
import type { AskGoogle } from './google-api';
import { listAll, type Requirement } from './requirement';

/** The database, its indexes and its security rules. */

export function checkDatabase(deployment: Deployment, ask: AskGoogle): Requirement {
  const { projectId } = deployment;
  const databaseId = getDatabaseId(deployment);
  const command = 'gcloud firestore databases';
  const options = `--database='${databaseId}' --type=firestore-native --project ${projectId}`;
  return [
    `database ${databaseId}`,
    async () => {
      const found = await ask<{ type: string }>('firestore', `v1/projects/${projectId}/databases/${databaseId}`);
      if (found === undefined) return ['not found', `${command} create --location=nam5 ${options}`];
      return found.type === 'FIRESTORE_NATIVE'
        ? undefined
        : [`its type is ${found.type}`, `${command} update ${options}`];
    },
  ];
}

export function listIndexChecks(deployment: Deployment, ask: AskGoogle): Requirement[] {
  const { projectId, indexes: declared } = deployment;
  const group = `v1/projects/${projectId}/databases/${getDatabaseId(deployment)}/collectionGroups/-`;
  const deploy = `firebase deploy --only firestore:indexes --project ${projectId}`;
  interface StoredIndex {
    name: string;
    queryScope: string;
    fields: IndexField[];
    state: string;
  }
  return [
    ...declared.indexes.map(({ collectionGroup, queryScope, fields }): Requirement => {
      const wanted = describeIndex(collectionGroup, queryScope, fields);
      return [
        `index ${wanted}`,
        async () => {
          const found = await listAll<StoredIndex>(ask, 'firestore', `${group}/indexes`, 'indexes');
          const stored = found.find(
            ({ name, queryScope, fields }) =>
              describeIndex(name.split('/').at(-3) ?? '', queryScope, fields) === wanted,
          );
          if (stored?.state === 'READY') return undefined;
          if (stored?.state === 'CREATING') return ['being built', 'wait, and run this command again'];
          // Deploying does not rebuild an index that exists.
          const id = stored?.name.split('/').at(-1) ?? '';
          const remove = `gcloud firestore indexes composite delete ${id} --database='${getDatabaseId(deployment)}' --project ${projectId}`;
          return stored === undefined ? ['not found', deploy] : [stored.state, `${remove} && ${deploy}`];
        },
      ];
    }),
    [
      'index exemptions',
      async () => {
        const filter = encodeURIComponent('indexConfig.usesAncestorConfig:false');
        const found = await listAll<{ name: string }>(ask, 'firestore', `${group}/fields?filter=${filter}`, 'fields');
        const exemptions = declared.fieldOverrides.map((each) => `${each.collectionGroup}/fields/${each.fieldPath}`);
        const lacking = exemptions.filter((field) => !found.some(({ name }) => name.endsWith(`/${field}`)));
        return lacking.length === 0 ? undefined : [lacking.join(', '), deploy];
      },
    ],
  ];
}

/** Firestore adds `__name__` to each index that it stores. */
function describeIndex(collectionGroup: string, queryScope: string, fields: IndexField[]): string {
  const own = fields.filter(({ fieldPath }) => fieldPath !== '__name__');
  const columns = own.map(({ fieldPath, order = '' }) => `${fieldPath} ${order}`);
  return [`${collectionGroup} (${queryScope})`, ...columns].join(', ');
}

interface Release {
  rulesetName: string;
}

interface Ruleset {
  source?: { files?: { content: string }[] };
}

/**
 * Compares the security rules of a database with firestore.rules. All applications that use the database share its rules, so
 * the owner decides whether to replace them. `--keep-rules` skips this check. Without rules, Firestore refuses every client, as
 * firestore.rules does.
 */
export function checkRules(deployment: Deployment, ask: AskGoogle): Requirement {
  const { projectId, rules } = deployment;
  const databaseId = getDatabaseId(deployment);
  return [
    `rules of database ${databaseId}`,
    async () => {
      const release = databaseId === '(default)' ? 'cloud.firestore' : `cloud.firestore/${databaseId}`;
      const found = await ask<Release>('firebaserules', `v1/projects/${projectId}/releases/${release}`);
      if (found === undefined) return undefined;
      const ruleset = await ask<Ruleset>('firebaserules', `v1/${found.rulesetName}`);
      const contents = ruleset?.source?.files?.map(({ content }) => content) ?? [];
      if (normalize(contents.join('\n')) === normalize(rules)) return undefined;
      return [
        'differ from firestore.rules, which refuse every client',
        [
          `in a project of its own, replace them: firebase deploy --only firestore:rules --project ${projectId}`,
          'in a shared project, keep them if they let no client read or write the collections of this service: ' +
            `npm run deploy:check -- --project ${projectId} --keep-rules`,
        ].join('\n      '),
      ];
    },
  ];
}

/** Leaves out `//` comments and whitespace. */
const normalize = (rules: string): string => rules.replaceAll(/\/\/.*$/gm, '').replaceAll(/\s+/g, '');
