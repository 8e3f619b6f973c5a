import type { DeployManifest } from './manifest';

/** The project to check, and what deploy:check has read from the repository. */
export interface Deployment {
  projectId: string;
  manifest: DeployManifest;
  /** Values of functions/.env and functions/.env.<project>. */
  parameters: Record<string, string>;
  /** Lines of functions/.env and functions/.env.<project> that cannot be read or repeat a name, such as `functions/.env:3`. */
  invalidLines: readonly string[];
  /** `firestore.database` of firebase.json: the database that Firebase's tools deploy indexes and rules to. */
  firestoreDatabase: string;
}

/** The form of a database's id: https://cloud.google.com/firestore/docs/manage-databases. */
export const DATABASE_ID = /^(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$/;

/** Returns the database to check: that of DATABASE_ID, or the default database if the value is missing or invalid. */
export const getDatabaseId = ({ parameters }: Deployment): string => {
  const id = parameters['DATABASE_ID'] ?? '';
  return DATABASE_ID.test(id) ? id : '(default)';
};
