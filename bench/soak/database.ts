import type { Firestore } from '@google-cloud/firestore';

/** The records that the soak stores before the traffic, and what it reads of the keys after it. */

const ORDERS = 3_000;

export async function fillDatabase(db: Firestore): Promise<void> {
  const writer = db.bulkWriter();
  const place = { name: 'Somewhere', country_iso: 'KEN' };
  for (let i = 0; i < 50; i += 1) {
    void writer.set(db.doc(`teams/team-${i}`), place);
    void writer.set(db.doc(`warehouses/warehouse-${i}`), place);
    const market = { ...place, name: { en: 'A market' }, currency_iso: 'KES' };
    void writer.set(db.doc(`markets/market-${i}`), market);
  }
  for (let i = 0; i < ORDERS; i += 1) {
    const order = { team_id: `team-${i % 50}`, created_at: Date.UTC(2026, 0, 1 + (i % 28)) };
    void writer.set(db.doc(`orders/order-${i}`), { ...order, status: 'WAITING' });
    void writer.set(db.doc(`supply_orders/supply-${i}`), { ...order, status: i % 2, invoices: [] });
  }
  await writer.close();
}

/** The fields of a key record that the soak checks; the audit checks the other records. */
export interface SoakKey {
  boq_list_id: string;
  status: string;
  failure: string | null;
}

export async function readKeys(db: Firestore): Promise<SoakKey[]> {
  const keys = db.collection('price_list_idempotency');
  const { docs } = await keys.select('boq_list_id', 'status', 'failure').get();
  return docs.map((key) => key.data() as SoakKey);
}
