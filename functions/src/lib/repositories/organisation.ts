import type { OrdersByTeamRequest, SupplyOrdersInvoicesRequest } from '../schemas/requests';
import type { Market, Order, NamedRecord, SupplyOrder } from '../schemas/responses';
import { readCode, readInvoices, readText } from '../schemas/stored';
import { collections, fields } from '../firestore/collections';
import type { FieldFilter, QuerySpec, StoredDocument } from '../firestore/messages';
import { streamQuery } from '../firestore/query';
import type { CallContext } from '../call-context';

/**
 * The records that the five read operations answer, as the contract's section 2 shows them. Only the fields that are
 * answered are read, and records come in groups, one after another, so that memory does not grow with their number.
 */

/** A record with its identifier. */
export type IdentifiedRecord<T> = readonly [id: string, record: T];

/** Records, in groups as they arrive. */
export type RecordBatches<T> = AsyncGenerator<readonly T[]>;

/** The orders of a team within a range (contract, section 4.1); filtered in Firestore. */
export function readOrders(usage: CallContext, request: OrdersByTeamRequest): RecordBatches<IdentifiedRecord<Order>> {
  const field = fields.order;
  const status: FieldFilter[] = request.status === 'ALL' ? [] : [[field.status, '==', request.status]];
  const selection = {
    ...teamDateRangeQuery(collections.orders, field, request, status),
    fields: [field.customerId, field.customerName, field.invoice, field.market, field.team],
  };
  return streamRecords(usage, selection, ({ id, fields }) => [
    id,
    {
      customer_data: {
        customer_id: readText(getPath(fields, field.customerId)),
        customer_name: readText(getPath(fields, field.customerName)),
      },
      invoice_id: readText(getPath(fields, field.invoice)),
      market_id: readText(getPath(fields, field.market)),
      team_id: readText(getPath(fields, field.team)),
    },
  ]);
}

/** The supply orders of a team within a range (contract, section 4.5), oldest first, then by id. */
export function readSupplyOrders(usage: CallContext, request: SupplyOrdersInvoicesRequest): RecordBatches<SupplyOrder> {
  const field = fields.supplyOrder;
  const status: FieldFilter[] = request.status === null ? [] : [[field.status, '==', request.status]];
  const selection = {
    ...teamDateRangeQuery(collections.supplyOrders, field, request, status),
    fields: [field.invoices],
  };
  return streamRecords(usage, selection, ({ id, fields }) => ({
    id,
    invoices: readInvoices(getPath(fields, field.invoices)),
  }));
}

/** All warehouses (contract, section 4.2). */
export function readWarehouses(usage: CallContext): RecordBatches<IdentifiedRecord<NamedRecord>> {
  return readNamedRecords(usage, collections.warehouses, fields.warehouse);
}

/** All teams (contract, section 4.4). */
export function readTeams(usage: CallContext): RecordBatches<IdentifiedRecord<NamedRecord>> {
  return readNamedRecords(usage, collections.teams, fields.team);
}

/** All markets (contract, section 4.3). */
export function readMarkets(usage: CallContext): RecordBatches<IdentifiedRecord<Market>> {
  const { name, country, currency } = fields.market;
  const selection = { collection: collections.markets, fields: [name, country, currency] };
  return streamRecords(usage, selection, ({ id, fields }) => [id, toMarket(fields)]);
}

/** A market as its stored fields have it. */
export function toMarket(market: StoredFields): Market {
  return { ...toNamedRecord(market, fields.market), currency_iso: readCode(getPath(market, fields.market.currency)) };
}

/** Stored fields, of which nothing is known. */
type StoredFields = Readonly<Record<string, unknown>>;

interface NamedRecordFields {
  name: string;
  country: string;
}

const toNamedRecord = (place: StoredFields, { name, country }: NamedRecordFields): NamedRecord => ({
  name: readText(getPath(place, name)),
  country_iso: readCode(getPath(place, country)),
});

function readNamedRecords(
  usage: CallContext,
  collection: string,
  field: NamedRecordFields,
): RecordBatches<IdentifiedRecord<NamedRecord>> {
  const selection = { collection, fields: [field.name, field.country] };
  return streamRecords(usage, selection, ({ id, fields }) => [id, toNamedRecord(fields, field)]);
}

interface TeamDateRange {
  team_id: string;
  start_date: number;
  end_date: number;
}

/** What selects a team's records of a range; by the time of creation, so that one index serves the range and the order. */
function teamDateRangeQuery(
  collection: string,
  field: { team: string; createdAt: string },
  { team_id, start_date, end_date }: TeamDateRange,
  extraFilters: readonly FieldFilter[],
) {
  const where: FieldFilter[] = [
    [field.team, '==', team_id],
    [field.createdAt, '>=', start_date],
    [field.createdAt, '<', end_date],
    ...extraFilters,
  ];
  return { collection, where, orderBy: field.createdAt };
}

async function* streamRecords<T>(
  usage: CallContext,
  selection: QuerySpec,
  record: (document: StoredDocument) => T,
): RecordBatches<T> {
  for await (const group of streamQuery(usage, selection)) yield group.map(record);
}

/** The value at a dotted path. */
function getPath(stored: StoredFields, path: string): unknown {
  const dot = path.indexOf('.');
  if (dot === -1) return stored[path];
  const inner = stored[path.slice(0, dot)];
  return typeof inner === 'object' && inner !== null ? getPath(inner as StoredFields, path.slice(dot + 1)) : undefined;
}
