import { createHash } from 'node:crypto';
import { initializeApp } from 'firebase-admin/app';
import { getFirestore, type DocumentReference } from 'firebase-admin/firestore';
import { onRequest, type Request } from 'firebase-functions/v2/https';
import { z } from 'zod';

/**
 * The naive version: whole documents with `get()`, `res.json`, one schema for the whole body, a key that is read and then created,
 * one list after the other. It breaks rules of docs/api.md; it exists for its speed and memory.
 */

initializeApp();
const firestore = getFirestore();

const isAllowed = (request: Request) => request.get('x-api-key') === process.env['API_KEY'];

const list = (name: string, record: (data: Record<string, unknown>) => object) =>
  onRequest(async (request, response) => {
    if (!isAllowed(request)) return void response.status(401).json({ error: 'Unauthorized' });
    const { docs } = await firestore.collection(name).get();
    const records = Object.fromEntries(docs.map((document) => [document.id, record(document.data())]));
    response.json({ count: docs.length, [name]: records });
  });

export const getMarkets = list('markets', ({ name, country_iso, currency_iso }) => ({
  name: (name as { en: string }).en,
  country_iso,
  currency_iso,
}));

export const getTeams = list('teams', ({ name, country_iso }) => ({ name, country_iso }));

const ordersRequest = z.object({
  team_id: z.string().min(1),
  status: z.enum(['WAITING', 'LINKING', 'DELIVERING', 'DELIVERED', 'CANCELLED', 'ALL']),
  start_date: z.iso.date(),
  end_date: z.iso.date(),
});

export const getOrdersByTeam = onRequest(async (request, response) => {
  if (!isAllowed(request)) return void response.status(401).json({ error: 'Unauthorized' });
  const body = ordersRequest.safeParse(request.body);
  if (!body.success) return void response.status(400).json({ success: false, errors: body.error.issues });
  const { team_id, status, start_date, end_date } = body.data;
  let query = firestore
    .collection('orders')
    .where('team_id', '==', team_id)
    .where('created_at', '>=', Date.parse(start_date))
    .where('created_at', '<', Date.parse(end_date));
  if (status !== 'ALL') query = query.where('status', '==', status);
  const { docs } = await query.get();
  const orders = docs.map((document) => {
    const { customer_data, invoice_id, market_id, team_id } = document.data() as Record<string, unknown>;
    return [document.id, { customer_data, invoice_id, market_id, team_id }];
  });
  response.json({ count: docs.length, orders: Object.fromEntries(orders) as object });
});

const priceListsRequest = z.object({
  info: z.object({
    market_id: z.string().min(1),
    boq_list_id: z.string().min(1),
    currency_iso: z.string().length(3).toUpperCase(),
    date: z.string().regex(/^(0[1-9]|1[0-2])\/\d{4}$/),
    name: z.string().min(1),
  }),
  products: z.record(
    z.string().refine((id) => id === id.trim() && !id.includes('/')),
    z.object({ price_list_price: z.number().nonnegative(), expected_forward_cost_price: z.number().nonnegative() }),
  ),
});

export const addPriceLists = onRequest(async (request, response) => {
  if (!isAllowed(request)) return void response.status(401).json({ error: 'Unauthorized' });
  const body = priceListsRequest.safeParse(request.body);
  if (!body.success) return void response.status(400).json({ success: false, errors: body.error.issues });
  const { info, products } = body.data;
  const fingerprint = createHash('sha256').update(JSON.stringify(body.data)).digest('hex');
  const key = firestore.collection('price_list_idempotency').doc(info.boq_list_id);
  const known = await key.get();
  if (known.exists) return void response.status(409).json({ error: 'Request is already being processed' });
  await key.create({ status: 'processing', fingerprint });
  const market = await firestore.collection('markets').doc(info.market_id).get();
  const requestRecord = await firestore.collection('price_list_requests').add({ info, fingerprint });
  const document = { status: 'processing', market_id: market.id, name: info.name, date: info.date };
  const write = async (list: DocumentReference, price: 'price_list_price' | 'expected_forward_cost_price') => {
    await list.set(document);
    const entries = Object.entries(products);
    for (let start = 0; start < entries.length; start += 500) {
      const batch = firestore.batch();
      for (const [id, prices] of entries.slice(start, start + 500)) {
        batch.set(list.collection('products').doc(id), { [price]: prices[price] });
      }
      await batch.commit();
    }
    await list.update({ status: 'ready' });
  };
  await write(firestore.collection('expected_forward_costs').doc(), 'expected_forward_cost_price');
  await write(firestore.collection('price_lists').doc(), 'price_list_price');
  const result = { success: true, products_count: Object.keys(products).length, document_id: requestRecord.id };
  await key.update({ status: 'completed', response: result });
  response.json(result);
});
