import type { Request, Response } from '@google-cloud/functions-framework';
import { initializeApp } from 'firebase-admin/app';
import { getFirestore, type Query } from 'firebase-admin/firestore';

/**
 * Ordinary functions with the SDK, inside the `node:domain` of the Functions Framework, without API key, validation, idempotency or logs.
 * Reads call `get()`.
 */

initializeApp();
const firestore = getFirestore();

export const queryMarkets = (): Query =>
  firestore.collection('markets').select('name.en', 'country_iso', 'currency_iso');

export function queryOrders({ body }: Request): Query {
  const { team_id, start_date, end_date } = body as { team_id: string; start_date: string; end_date: string };
  return firestore
    .collection('orders')
    .where('team_id', '==', team_id)
    .where('created_at', '>=', Date.parse(start_date))
    .where('created_at', '<', Date.parse(end_date))
    .select('customer_data.customer_id', 'customer_data.customer_name', 'invoice_id', 'market_id', 'team_id');
}

export const getMarkets = (_: Request, response: Response) => sendRecords(response, 'markets', queryMarkets());

export const getOrdersByTeam = (request: Request, response: Response) =>
  sendRecords(response, 'orders', queryOrders(request));

async function sendRecords(response: Response, name: string, query: Query): Promise<void> {
  const { docs } = await query.get();
  const records = Object.fromEntries(docs.map((document) => [document.id, document.data()]));
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ [name]: records, count: docs.length }));
}

/** Writes both lists concurrently, and the batches of each list one after another. */
export const addPriceLists = async (request: Request, response: Response) => {
  const products = Object.entries((request.body as { products: Record<string, Record<string, number>> }).products);
  const write = async (collection: string, price: string) => {
    const entries = firestore.collection(collection).doc().collection('products');
    for (let start = 0; start < products.length; start += 500) {
      const batch = firestore.batch();
      for (const [id, prices] of products.slice(start, start + 500))
        batch.set(entries.doc(id), { [price]: prices[price] });
      await batch.commit();
    }
  };
  await Promise.all([
    write('expected_forward_costs', 'expected_forward_cost_price'),
    write('price_lists', 'price_list_price'),
  ]);
  response.setHeader('Content-Type', 'application/json');
  response.end('{}');
};
