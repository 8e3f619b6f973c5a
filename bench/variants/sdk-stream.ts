import type { Request, Response } from '@google-cloud/functions-framework';
import domain, { type Domain } from 'node:domain';
import { initializeApp } from 'firebase-admin/app';
import { getFirestore, type Query, type QueryDocumentSnapshot } from 'firebase-admin/firestore';

/** The best that the SDK can do for a read: it streams the documents, outside the domain of the Functions Framework. */

initializeApp();
const firestore = getFirestore();

export const getMarkets = (_: Request, response: Response) =>
  sendRecords(response, 'markets', firestore.collection('markets').select('name.en', 'country_iso', 'currency_iso'));

export const getOrdersByTeam = (request: Request, response: Response) => {
  const { team_id, start_date, end_date } = request.body as { team_id: string; start_date: string; end_date: string };
  const orders = firestore
    .collection('orders')
    .where('team_id', '==', team_id)
    .where('created_at', '>=', Date.parse(start_date))
    .where('created_at', '<', Date.parse(end_date))
    .select('customer_data.customer_id', 'customer_data.customer_name', 'invoice_id', 'market_id', 'team_id');
  sendRecords(response, 'orders', orders);
};

function sendRecords(response: Response, name: string, query: Query): void {
  (domain as { active?: Domain | null }).active?.exit();
  const records: string[] = [];
  response.setHeader('Content-Type', 'application/json');
  query
    .stream()
    .on('data', (document: QueryDocumentSnapshot) => {
      records.push(`${JSON.stringify(document.id)}:${JSON.stringify(document.data())}`);
    })
    .on('end', () => response.end(`{"${name}":{${records.join()}},"count":${records.length}}`));
}
