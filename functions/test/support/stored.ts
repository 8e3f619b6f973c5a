import type { Firestore } from 'firebase-admin/firestore';

/** Ids that are error-prone in JSON, paths or objects. Ids such as `__…__` are missing, because Firestore rejects them. */
export const edgeCaseIds = [
  'constructor',
  'toString',
  'hasOwnProperty',
  '__proto',
  '0',
  '10',
  '9',
  '-1',
  'ÅÄÖ',
  'مخزن',
  '𝄞',
  'a "quoted" \\ id',
  'line\nbreak',
  ' ',
  '.a',
  // Its length takes two bytes in a message of Firestore. A longer id would fill the terminal when a test fails.
  'x'.repeat(130),
];

export async function writeRecords(db: Firestore, collection: string, records: Record<string, object>): Promise<void> {
  const entries = Object.entries(records);
  for (let start = 0; start < entries.length; start += 500) {
    const batch = db.batch();
    for (const [id, record] of entries.slice(start, start + 500)) batch.set(db.collection(collection).doc(id), record);
    await batch.commit();
  }
}
