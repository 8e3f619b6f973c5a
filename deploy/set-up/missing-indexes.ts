import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { parseOutsideJson } from '../../command/cli/outside-json';
import { endWithMessage, readArguments } from '../../dev/program.mjs';

endWithMessage();
const { positionals } = readArguments(
  `Usage: node --import tsx deploy/set-up/missing-indexes.ts FILE

Prints what firestore.indexes.json declares and a database lacks, one per line: indexes, and settings of fields.
FILE has the output of firebase firestore:indexes --json.`,
  { allowPositionals: true },
);

const text = z.string().optional();
const indexesSchema = z.object({
  indexes: z.array(
    z.object({
      collectionGroup: z.string(),
      queryScope: z.string(),
      fields: z.array(z.object({ fieldPath: z.string(), order: text })),
    }),
  ),
  fieldOverrides: z.array(
    z.object({
      collectionGroup: z.string(),
      fieldPath: z.string(),
      indexes: z.array(z.object({ order: text, arrayConfig: text, queryScope: z.string() })),
    }),
  ),
});

type Indexes = z.infer<typeof indexesSchema>;

// Firestore adds `__name__` to each index that it stores.
const describeIndex = ({ collectionGroup, queryScope, fields }: Indexes['indexes'][number]): string => {
  const own = fields.filter(({ fieldPath }) => fieldPath !== '__name__');
  return `${collectionGroup} (${queryScope}) ${own.map(({ fieldPath, order }) => `${fieldPath} ${String(order)}`).join(', ')}`;
};

const describeField = ({ collectionGroup, fieldPath, indexes }: Indexes['fieldOverrides'][number]): string => {
  const kinds = indexes.map(({ order, arrayConfig, queryScope }) => `${String(order ?? arrayConfig)} (${queryScope})`);
  return `${collectionGroup}.${fieldPath}: ${kinds.sort().join(', ') || 'no index'}`;
};

const list = ({ indexes, fieldOverrides }: Indexes): string[] => [
  ...indexes.map(describeIndex),
  ...fieldOverrides.map(describeField),
];

const read = <T>(file: string, schema: z.ZodType<T>, source: string): T =>
  parseOutsideJson(readFileSync(file, 'utf8'), schema, source);
const declared = read('firestore.indexes.json', indexesSchema, 'firestore.indexes.json');
const stored = read(
  positionals[0] ?? '',
  z.object({ result: indexesSchema }),
  'The output of firebase firestore:indexes',
);

const there = new Set(list(stored.result));
for (const each of list(declared)) if (!there.has(each)) console.log(each);
