import type { OrdersByTeamRequest, SupplyOrdersInvoicesRequest } from '../schemas/requests';
import type { Market, Order, Place, SupplyOrder } from '../schemas/responses';
import { storedCode, storedInvoices, storedText } from '../schemas/stored';
import { collections, fields } from './collections';
import { select, type Condition, type Selection } from './query';
import type { Usage } from './usage';
import type { StoredDocument } from './wire';

/**
 * The records that the five read operations answer, as the contract's section 2 shows them. Only the fields that are
 * answered are read, and records come in groups, one after another, so that memory does not grow with their number.
 */

/** A record with its identifier. */
export type Identified<T> = readonly [id: string, record: T];

/** Records, in groups as they arrive. */
export type Groups<T> = AsyncGenerator<readonly T[]>;

/** The orders of a team within a range (contract, section 4.1); filtered in Firestore. */
export function readOrders(usage: Usage, request: OrdersByTeamRequest): Groups<Identified<Order>> {
  const field = fields.order;
  const status: Condition[] = request.status === 'ALL' ? [] : [[field.status, '==', request.status]];
  const selection = {
    ...ofTeamInRange(collections.orders, field, request, status),
    fields: [field.customerId, field.customerName, field.invoice, field.market, field.team],
  };
  return read(usage, selection, ({ id, fields }) => [
    id,
    {
      customer_data: {
        customer_id: storedText(at(fields, field.customerId)),
        customer_name: storedText(at(fields, field.customerName)),
      },
      invoice_id: storedText(at(fields, field.invoice)),
      market_id: storedText(at(fields, field.market)),
      team_id: storedText(at(fields, field.team)),
    },
  ]);
}

/** The supply orders of a team within a range (contract, section 4.5), oldest first, then by id. */
export function readSupplyOrders(usage: Usage, request: SupplyOrdersInvoicesRequest): Groups<SupplyOrder> {
  const field = fields.supplyOrder;
  const status: Condition[] = request.status === null ? [] : [[field.status, '==', request.status]];
  const selection = {
    ...ofTeamInRange(collections.supplyOrders, field, request, status),
    fields: [field.invoices],
  };
  return read(usage, selection, ({ id, fields }) => ({ id, invoices: storedInvoices(at(fields, field.invoices)) }));
}

/** All warehouses (contract, section 4.2). */
export function readWarehouses(usage: Usage): Groups<Identified<Place>> {
  return readPlaces(usage, collections.warehouses, fields.warehouse);
}

/** All teams (contract, section 4.4). */
export function readTeams(usage: Usage): Groups<Identified<Place>> {
  return readPlaces(usage, collections.teams, fields.team);
}

/** All markets (contract, section 4.3). */
export function readMarkets(usage: Usage): Groups<Identified<Market>> {
  const { name, country, currency } = fields.market;
  const selection = { collection: collections.markets, fields: [name, country, currency] };
  return read(usage, selection, ({ id, fields }) => [id, marketOf(fields)]);
}

/** A market as its stored fields have it. */
export function marketOf(market: Stored): Market {
  return { ...placeOf(market, fields.market), currency_iso: storedCode(at(market, fields.market.currency)) };
}

/** Stored fields, of which nothing is known. */
type Stored = Readonly<Record<string, unknown>>;

interface PlaceFields {
  name: string;
  country: string;
}

const placeOf = (place: Stored, { name, country }: PlaceFields): Place => ({
  name: storedText(at(place, name)),
  country_iso: storedCode(at(place, country)),
});

function readPlaces(usage: Usage, collection: string, field: PlaceFields): Groups<Identified<Place>> {
  const selection = { collection, fields: [field.name, field.country] };
  return read(usage, selection, ({ id, fields }) => [id, placeOf(fields, field)]);
}

interface Range {
  team_id: string;
  start_date: number;
  end_date: number;
}

/** What selects a team's records of a range; by the time of creation, so that one index serves the range and the order. */
function ofTeamInRange(
  collection: string,
  field: { team: string; createdAt: string },
  { team_id, start_date, end_date }: Range,
  more: readonly Condition[],
) {
  const where: Condition[] = [
    [field.team, '==', team_id],
    [field.createdAt, '>=', start_date],
    [field.createdAt, '<', end_date],
    ...more,
  ];
  return { collection, where, orderBy: field.createdAt };
}

async function* read<T>(usage: Usage, selection: Selection, record: (document: StoredDocument) => T): Groups<T> {
  for await (const group of select(usage, selection)) yield group.map(record);
}

/** The value at a dotted path. */
function at(stored: Stored, path: string): unknown {
  const dot = path.indexOf('.');
  if (dot === -1) return stored[path];
  const inner = stored[path.slice(0, dot)];
  return typeof inner === 'object' && inner !== null ? at(inner as Stored, path.slice(dot + 1)) : undefined;
}
