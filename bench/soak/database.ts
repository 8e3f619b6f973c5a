import type { Firestore } from '@google-cloud/firestore';
import type { CreatedList } from './traffic';

/** The records that the soak stores before the traffic, and the checks of those after it. */

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

/** Reads every record of every list: each key once, each list whole, each list document as its key says. */
export async function checkSoakDatabase(
  db: Firestore,
  created: readonly CreatedList[],
  attempted: readonly string[],
  violations: string[],
): Promise<SoakKeys> {
  const lists = { price_lists: 'price_list', expected_forward_costs: 'expected_forward_cost' } as const;
  const keys = await keysOf(db).get();
  const requests = await db.collection('price_list_requests').get();
  const completed = keys.docs.filter((key) => key.get('status') === 'completed');
  const expectCount = (what: string, found: number, expected: number) => {
    if (found !== expected) violations.push(`${what}: ${found} instead of ${expected}`);
  };
  expectCount('request records', requests.size, keys.size);
  if (keys.size > attempted.length) violations.push('there are keys that no client sent');
  for (const key of keys.docs) {
    const status = key.get('status') as string;
    if (status !== 'completed')
      violations.push(`${key.id} is left to an operator: ${status}, ${String(key.get('failure'))}`);
  }
  const completedIds = new Set(completed.map((key) => key.get('boq_list_id') as string));
  for (const { boq_list_id } of created)
    if (!completedIds.has(boq_list_id)) violations.push(`${boq_list_id} got 200 and is lost`);
  for (const [collection, name] of Object.entries(lists)) {
    const documents = await db.collection(collection).get();
    const ready = documents.docs.filter((list) => list.get('status') === 'ready');
    expectCount(collection, documents.size, keys.size);
    expectCount(`ready ${collection}`, ready.length, completed.length);
    for (const key of completed) {
      const response = JSON.parse(key.get('response') as string) as Record<string, { id: string }>;
      const entries = db.collection(`${collection}/${response[name]?.id ?? ''}/products`);
      expectCount(
        `entries of ${key.id} in ${collection}`,
        (await entries.get()).size,
        key.get('products_count') as number,
      );
    }
  }
  return { completed: completed.length, left: keys.size - completed.length };
}
