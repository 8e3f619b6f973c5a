import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Firestore } from '@google-cloud/firestore';
import { createSampleRecords } from './records';

export { createSampleRecords };

interface Description {
  paths: Record<
    string,
    { post?: { requestBody: { content: { 'application/json': { examples: Record<string, { value: unknown }> } } } } }
  >;
}

/**
 * @returns the request body of the first example of each operation in docs/openapi.json; undefined for a GET. For add price
 *   lists, `@` and the path of the example file, which curl reads
 */
export function readSampleBodies(): Record<string, string | undefined> {
  const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as Description;
  const examples = Object.entries(paths).map(([path, { post }]): [string, string | undefined] => {
    const [example] = Object.values(post?.requestBody.content['application/json'].examples ?? {});
    return [path.slice(1), example && JSON.stringify(example.value)];
  });
  return { ...Object.fromEntries(examples), addPriceLists: `@${resolve('docs/examples/price-list.json')}` };
}

/**
 * Writes the sample records into an empty database, in one commit, which stores all of them or none.
 * @returns the number of written records: 0 if the database was not empty
 */
export async function seedIfEmpty(firestore: Firestore): Promise<number> {
  if ((await firestore.listCollections()).length > 0) return 0;
  const records = createSampleRecords();
  const batch = firestore.batch();
  for (const { collection, id, data } of records) batch.set(firestore.collection(collection).doc(id), data);
  await batch.commit();
  return records.length;
}
