import type { Requirement } from './requirement';
import type { AskGoogle } from './google-api';

interface Release {
  rulesetName: string;
}

interface Ruleset {
  source?: { files?: { content: string }[] };
}

/**
 * Compares the security rules of a database with firestore.rules. A project has one set of rules
 * for all its applications, so replacing them is a decision: `--keep-rules` says that it was made.
 * Without rules Firestore refuses every client, as ours do.
 */
export function listRules(
  { projectId, databaseId, rules }: { projectId: string; databaseId: string; rules: string },
  ask: AskGoogle,
): Requirement {
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

/** Leaves out comments and spaces. */
const normalize = (rules: string): string => rules.replaceAll(/\/\/.*$/gm, '').replaceAll(/\s+/g, '');
