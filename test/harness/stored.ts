import type { Firestore } from 'firebase-admin/firestore';

export async function writeRecords(db: Firestore, collection: string, records: Record<string, object>): Promise<void> {
  const entries = Object.entries(records);
  for (let start = 0; start < entries.length; start += 500) {
    const batch = db.batch();
    for (const [id, record] of entries.slice(start, start + 500)) batch.set(db.collection(collection).doc(id), record);
    await batch.commit();
  }
}
