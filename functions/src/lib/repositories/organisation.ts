import { addAbortSignal, type Readable } from 'node:stream';
import type { DocumentSnapshot, Query } from 'firebase-admin/firestore';
import type { OrdersByTeamRequest, SupplyOrdersInvoicesRequest } from '../schemas/requests';
import type { Market, Order, Place, SupplyOrder } from '../schemas/responses';
import { storedCode, storedInvoices, storedText } from '../schemas/stored';
import { collections, fields } from './collections';
import type { Database } from './database';

/**
 * The records that the five read operations answer, as the contract's section 2 shows them. Only the fields that are
 * answered are read, and records come one after another, so that memory does not grow with their number.
 */

/** A record with its identifier. */
export type Identified<T> = readonly [id: string, record: T];

/** The orders of a team within a range (contract, section 4.1); filtered in Firestore. */
export function readOrders(db: Database, request: OrdersByTeamRequest): AsyncGenerator<Identified<Order>> {
  const field = fields.order;
  const wanted = ofTeamInRange(db, collections.orders, field, request);
  const query = request.status === 'ALL' ? wanted : wanted.where(field.status, '==', request.status);
  const answered = [field.customerId, field.customerName, field.invoice, field.market, field.team];
  return read(db, query.select(...answered), (order) => ({
    customer_data: {
      customer_id: storedText(order.get(field.customerId)),
      customer_name: storedText(order.get(field.customerName)),
    },
    invoice_id: storedText(order.get(field.invoice)),
    market_id: storedText(order.get(field.market)),
    team_id: storedText(order.get(field.team)),
  }));
}

/** The supply orders of a team within a range (contract, section 4.5), oldest first, then by id. */
export async function* readSupplyOrders(
  db: Database,
  request: SupplyOrdersInvoicesRequest,
): AsyncGenerator<SupplyOrder> {
  const field = fields.supplyOrder;
  const wanted = ofTeamInRange(db, collections.supplyOrders, field, request);
  const query = request.status === null ? wanted : wanted.where(field.status, '==', request.status);
  const ordered = query.orderBy(field.createdAt).select(field.invoices);
  for await (const [id, invoices] of read(db, ordered, (order) => storedInvoices(order.get(field.invoices)))) {
    yield { id, invoices };
  }
}

/** All warehouses (contract, section 4.2). */
export function readWarehouses(db: Database): AsyncGenerator<Identified<Place>> {
  return readPlaces(db, collections.warehouses, fields.warehouse);
}

/** All teams (contract, section 4.4). */
export function readTeams(db: Database): AsyncGenerator<Identified<Place>> {
  return readPlaces(db, collections.teams, fields.team);
}

/** All markets (contract, section 4.3). */
export function readMarkets(db: Database): AsyncGenerator<Identified<Market>> {
  const { name, country, currency } = fields.market;
  return read(db, db.firestore.collection(collections.markets).select(name, country, currency), marketOf);
}

/** A market as its stored record has it; for a record that does not exist, all null. */
export function marketOf(market: DocumentSnapshot): Market {
  const { currency } = fields.market;
  return { ...placeOf(market, fields.market), currency_iso: storedCode(market.get(currency)) };
}

interface PlaceFields {
  name: string;
  country: string;
}

const placeOf = (place: DocumentSnapshot, { name, country }: PlaceFields): Place => ({
  name: storedText(place.get(name)),
  country_iso: storedCode(place.get(country)),
});

function readPlaces(db: Database, collection: string, field: PlaceFields): AsyncGenerator<Identified<Place>> {
  const query = db.firestore.collection(collection).select(field.name, field.country);
  return read(db, query, (place) => placeOf(place, field));
}

interface Range {
  team_id: string;
  start_date: number;
  end_date: number;
}

function ofTeamInRange(
  { firestore }: Database,
  collection: string,
  field: { team: string; createdAt: string },
  { team_id, start_date, end_date }: Range,
): Query {
  return firestore
    .collection(collection)
    .where(field.team, '==', team_id)
    .where(field.createdAt, '>=', start_date)
    .where(field.createdAt, '<', end_date);
}

async function* read<T>(
  db: Database,
  query: Query,
  record: (document: DocumentSnapshot) => T,
): AsyncGenerator<Identified<T>> {
  db.calls += 1;
  const documents = query.stream() as unknown as Readable;
  addAbortSignal(db.signal, documents);
  for await (const document of documents as AsyncIterable<DocumentSnapshot>) {
    yield [document.id, record(document)];
  }
}
