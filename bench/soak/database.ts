import type { Firestore, QueryDocumentSnapshot } from '@google-cloud/firestore';
import type { CreatedList } from './traffic';

/** The records that the soak stores before the traffic, and the check of the keys after it. */

const ORDERS = 3_000;

export async function fillSoakDatabase(db: Firestore): Promise<void> {
  const writer = db.bulkWriter();
  const place = { name: 'Somewhere', country_iso: 'KEN' };
  for (let i = 0; i < 50; i += 1) {
    void writer.set(db.doc(`teams/team-${i}`), place);
    void writer.set(db.doc(`warehouses/warehouse-${i}`), place);
    void writer.set(db.doc(`markets/market-${i}`), {
      name: { en: 'A market' },
      country_iso: 'KEN',
      currency_iso: 'KES',
    });
  }
  for (let i = 0; i < ORDERS; i += 1) {
    const order = { team_id: `team-${i % 50}`, created_at: Date.UTC(2026, 0, 1 + (i % 28)) };
    void writer.set(db.doc(`orders/order-${i}`), { ...order, status: 'WAITING' });
    void writer.set(db.doc(`supply_orders/supply-${i}`), { ...order, status: i % 2, invoices: [] });
  }
  await writer.close();
}

const keysOf = (db: Firestore) => db.collection('price_list_idempotency');

/** Whether a key is claimed. */
export async function hasKeyRecord(db: Firestore, boqListId: string): Promise<boolean> {
  return !(await keysOf(db).where('boq_list_id', '==', boqListId).limit(1).get()).empty;
}

/** Keys that are in progress or require review. */
export async function countOpenKeys(db: Firestore): Promise<number> {
  const open = keysOf(db).where('status', 'in', ['processing', 'requires_review']);
  return (await open.count().get()).data().count;
}

export interface SoakKeys {
  completed: number;
  /** Left to an operator: in progress or requires review after the sweep had its time. */
  left: number;
}

/** Compares the keys with what the clients sent and got; what is stored of each is audited. */
export async function checkSoakKeys(
  db: Firestore,
  created: readonly CreatedList[],
  attempted: readonly string[],
  violations: string[],
): Promise<SoakKeys> {
  const { docs } = await keysOf(db).get();
  const isCompleted = (key: QueryDocumentSnapshot) => key.get('status') === 'completed';
  const completed = new Set(docs.filter(isCompleted).map((key) => key.get('boq_list_id') as string));
  if (docs.length > attempted.length) violations.push('there are keys that no client sent');
  for (const key of docs.filter((each) => !isCompleted(each)))
    violations.push(`${key.id} is left to an operator: ${key.get('status')}, ${key.get('failure')}`);
  for (const { boq_list_id } of created)
    if (!completed.has(boq_list_id)) violations.push(`${boq_list_id} got 200 and is lost`);
  return { completed: completed.size, left: docs.length - completed.size };
}
