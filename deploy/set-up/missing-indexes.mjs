import { readFileSync } from 'node:fs';

/**
 * Prints what firestore.indexes.json declares and a database lacks, one per line: indexes, and settings of fields.
 * The argument is a file with the output of `firebase firestore:indexes --json`.
 */

const [, , stored] = process.argv;
const declared = JSON.parse(readFileSync('firestore.indexes.json', 'utf8'));
const { result } = JSON.parse(readFileSync(stored, 'utf8'));

// Firestore adds `__name__` to each index that it stores.
const describeIndex = ({ collectionGroup, queryScope, fields }) => {
  const own = fields.filter(({ fieldPath }) => fieldPath !== '__name__');
  return `${collectionGroup} (${queryScope}) ${own.map(({ fieldPath, order }) => `${fieldPath} ${order}`).join(', ')}`;
};

const describeField = ({ collectionGroup, fieldPath, indexes }) => {
  const kinds = indexes.map(({ order, arrayConfig, queryScope }) => `${order ?? arrayConfig} (${queryScope})`);
  return `${collectionGroup}.${fieldPath}: ${kinds.sort().join(', ') || 'no index'}`;
};

const list = ({ indexes, fieldOverrides }) => [...indexes.map(describeIndex), ...fieldOverrides.map(describeField)];

const there = new Set(list(result));
for (const each of list(declared)) if (!there.has(each)) console.log(each);
