import type { Firestore, Query } from 'firebase-admin/firestore';
import { Query as PublicQuery } from '@google-cloud/firestore';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/*
 * Internal classes of the Firestore SDK. The package does not export them, so this file loads them
 * by path. A new release can move them.
 */

const requireHere = createRequire(__filename);
const SDK = join(dirname(requireHere.resolve('@google-cloud/firestore/package.json')), 'build/src');

const { ResourcePath } = requireHere(join(SDK, 'path')) as { ResourcePath: { EMPTY: object } };
const { QueryOptions } = requireHere(join(SDK, 'reference/query-options')) as {
  QueryOptions: { forKindlessAllDescendants: (parent: object, id: string) => object };
};

export function queryAllDocuments(db: Firestore): Query {
  const PrivateQuery = PublicQuery as unknown as new (db: Firestore, options: object) => Query;
  return new PrivateQuery(db, QueryOptions.forKindlessAllDescendants(ResourcePath.EMPTY, ''));
}
