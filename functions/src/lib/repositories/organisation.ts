import type { OrdersByTeamRequest, SupplyOrdersInvoicesRequest } from '../schemas/requests';
import type { Market, Order, NamedRecord, SupplyOrder } from '../schemas/responses';
import { readCode, readInvoices, readText } from '../schemas/stored';
import { collections, fields } from '../firestore/collections';
import type { FieldFilter, QuerySpec, StoredDocument } from '../firestore/messages';
import { streamQuery } from '../firestore/query';
import type { CallContext } from '../call-context';

/**
 * Reads the records of the read operations. Reads only the fields of the response, in batches, so that memory does not
 * grow with the number of records. The stored fields are in docs/data-model.md.
 */

export type IdentifiedRecord<T> = readonly [id: string, record: T];

/** Batches of records as they arrive. */
export type RecordBatches<T> = AsyncGenerator<readonly T[]>;

export function readOrders(context: CallContext, request: OrdersByTeamRequest): RecordBatches<IdentifiedRecord<Order>> {
  const field = fields.order;
  const query = {
    ...createTeamDateRangeQuery(collections.orders, field, request),
    fields: [field.customerId, field.customerName, field.invoice, field.market, field.team],
  };
  return streamRecords(context, query, ({ id, fields: stored }) => [
    id,
    {
      customer_data: {
        customer_id: readText(getPath(stored, field.customerId)),
        customer_name: readText(getPath(stored, field.customerName)),
      },
      invoice_id: readText(getPath(stored, field.invoice)),
      market_id: readText(getPath(stored, field.market)),
      team_id: readText(getPath(stored, field.team)),
    },
  ]);
}

/** Reads the supply orders of a team within a date range, by creation time and id. */
export function readSupplyOrders(
  context: CallContext,
  request: SupplyOrdersInvoicesRequest,
): RecordBatches<SupplyOrder> {
  const field = fields.supplyOrder;
  const query = createTeamDateRangeQuery(collections.supplyOrders, field, request);
  return streamRecords(context, { ...query, fields: [field.invoices] }, ({ id, fields: stored }) => ({
    id,
    invoices: readInvoices(getPath(stored, field.invoices)),
  }));
}

export const readWarehouses = (context: CallContext) =>
  readNamedRecords(context, collections.warehouses, fields.warehouse);

export const readTeams = (context: CallContext) => readNamedRecords(context, collections.teams, fields.team);

export function readMarkets(context: CallContext): RecordBatches<IdentifiedRecord<Market>> {
  const { name, country, currency } = fields.market;
  const query = { collection: collections.markets, fields: [name, country, currency] };
  return streamRecords(context, query, ({ id, fields: stored }) => [id, toMarket(stored)]);
}

export function toMarket(market: StoredFields): Market {
  return { ...toNamedRecord(market, fields.market), currency_iso: readCode(getPath(market, fields.market.currency)) };
}

type StoredFields = Readonly<Record<string, unknown>>;

type NamedRecordFields = Readonly<Record<'name' | 'country', string>>;

const toNamedRecord = (stored: StoredFields, { name, country }: NamedRecordFields): NamedRecord => ({
  name: readText(getPath(stored, name)),
  country_iso: readCode(getPath(stored, country)),
});

function readNamedRecords(
  context: CallContext,
  collection: string,
  field: NamedRecordFields,
): RecordBatches<IdentifiedRecord<NamedRecord>> {
  const query = { collection, fields: [field.name, field.country] };
  return streamRecords(context, query, ({ id, fields: stored }) => [id, toNamedRecord(stored, field)]);
}

/** Ordered by creation time, so that one index serves the range and the order. */
function createTeamDateRangeQuery(
  collection: string,
  field: Readonly<Record<'team' | 'createdAt' | 'status', string>>,
  { team_id, start_date, end_date, status }: OrdersByTeamRequest | SupplyOrdersInvoicesRequest,
) {
  const where: FieldFilter[] = [
    [field.team, '==', team_id],
    [field.createdAt, '>=', start_date],
    [field.createdAt, '<', end_date],
  ];
  if (status !== null) where.push([field.status, '==', status]);
  return { collection, where, orderBy: field.createdAt };
}

async function* streamRecords<T>(
  context: CallContext,
  query: QuerySpec,
  toRecord: (document: StoredDocument) => T,
): RecordBatches<T> {
  for await (const batch of streamQuery(context, query)) yield batch.map(toRecord);
}

/** Returns the value at a dotted path. */
function getPath(stored: StoredFields, path: string): unknown {
  const dot = path.indexOf('.');
  if (dot === -1) return stored[path];
  const inner = stored[path.slice(0, dot)];
  return typeof inner === 'object' && inner !== null ? getPath(inner as StoredFields, path.slice(dot + 1)) : undefined;
}
