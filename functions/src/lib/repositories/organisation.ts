import type { OrdersByTeamRequest, SupplyOrdersInvoicesRequest } from '../schemas/read-requests';
import type { Market, Order, NamedRecord, SupplyOrder } from '../schemas/responses';
import { collections, fields } from '../firestore/collections';
import type { FieldFilter, StoredFields } from '../firestore/messages';
import { streamQuery } from '../firestore/query';
import type { WorkContext } from '../work-context';
import { toCode, toText } from './stored-values';

/**
 * Reads the records that the read operations return. Reads only the fields that a response or its order needs, and in
 * batches, so that a large read does not hold all records at once. docs/data-model.md lists the stored fields.
 */

export function readOrders(context: WorkContext, request: OrdersByTeamRequest) {
  const { customerId, customerName, invoice, market, team } = fields.order;
  const shown = [customerId, customerName, invoice, market, team];
  return streamTeamRecords(context, collections.orders, fields.order, request, shown, (stored): Order => ({
    customer_data: { customer_id: getText(stored, customerId), customer_name: getText(stored, customerName) },
    invoice_id: getText(stored, invoice),
    market_id: getText(stored, market),
    team_id: getText(stored, team),
  }));
}

export function readSupplyOrders(context: WorkContext, request: SupplyOrdersInvoicesRequest) {
  const { supplyOrders } = collections;
  const { invoices } = fields.supplyOrder;
  return streamTeamRecords(context, supplyOrders, fields.supplyOrder, request, [invoices], (stored): SupplyOrder => ({
    invoices: toInvoices(getPath(stored, invoices)),
  }));
}

export const readWarehouses = (context: WorkContext) =>
  readNamedRecords(context, collections.warehouses, fields.warehouse);

export const readTeams = (context: WorkContext) => readNamedRecords(context, collections.teams, fields.team);

export const readMarkets = (context: WorkContext) =>
  streamQuery(context, { collection: collections.markets, fields: Object.values(fields.market) }, toMarket);

export const toMarket = (stored: StoredFields): Market => ({
  ...toNamedRecord(stored, fields.market),
  currency_iso: getCode(stored, fields.market.currency),
});

type NamedRecordFields = Record<'name' | 'country', string>;

const toNamedRecord = (stored: StoredFields, { name, country }: NamedRecordFields): NamedRecord => ({
  name: getText(stored, name),
  country_iso: getCode(stored, country),
});

const readNamedRecords = (context: WorkContext, collection: string, field: NamedRecordFields) =>
  streamQuery(context, { collection, fields: Object.values(field) }, (stored) => toNamedRecord(stored, field));

/** Firestore rejects a filter whose text has this number of bytes of UTF-8, or more. */
export const UNSEARCHABLE_TEXT_BYTES = 1500;

/** Streams records by creation time, so that one index serves the range and the order. @param shown the fields to read */
function streamTeamRecords<T>(
  context: WorkContext,
  collection: string,
  field: Record<'team' | 'createdAt' | 'status', string>,
  { team_id, start_date, end_date, status }: OrdersByTeamRequest | SupplyOrdersInvoicesRequest,
  shown: readonly string[],
  toRecord: (stored: StoredFields) => T,
) {
  if (Buffer.byteLength(team_id) >= UNSEARCHABLE_TEXT_BYTES) return [];
  const where: FieldFilter[] = [
    [field.team, '==', team_id],
    [field.createdAt, '>=', start_date],
    [field.createdAt, '<', end_date],
  ];
  if (status !== null) where.push([field.status, '==', status]);
  return streamQuery(context, { collection, where, orderBy: [field.createdAt], fields: shown }, toRecord);
}

const getText = (stored: StoredFields, path: string) => toText(getPath(stored, path));

const getCode = (stored: StoredFields, path: string) => toCode(getPath(stored, path));

const getPath = (stored: StoredFields, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as StoredFields | null | undefined)?.[name], stored);

/** @returns the invoices of a supply order, without entries that lack a name or a URL */
function toInvoices(value: unknown): { name: string; url: string }[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: { name?: unknown; url?: unknown } | null | undefined) => {
    const [name, url] = [toText(entry?.name), toText(entry?.url)];
    return name === null || url === null ? [] : [{ name, url }];
  });
}
