import type * as z from 'zod';
import * as functions from '../../../functions/src';
import type { OperationFunction } from '../../../functions/src/lib/http/endpoint';
import type { ErrorCode } from '../../../functions/src/lib/errors';
import { addPriceListsRequestSchema } from '../../../functions/src/lib/schemas/add-price-lists';
import {
  ordersByTeamRequestSchema,
  supplyOrdersInvoicesRequestSchema,
} from '../../../functions/src/lib/schemas/read-requests';
import {
  addPriceListsResponseSchema,
  marketSchema,
  orderSchema,
  teamSchema,
  warehouseSchema,
} from '../../../functions/src/lib/schemas/responses';
import * as bodies from './bodies';
import * as examples from './examples';
import type { HeaderName } from './headers';

/**
 * Describes each operation. Names, methods, timeouts and CORS come from the functions that
 * functions/src/index.ts exports.
 */

export interface Example {
  summary: string;
  value: object;
}

export interface Described {
  schema: z.ZodType;
  examples: Record<string, Example>;
}

export interface OperationDescription {
  tag: 'Organisation data' | 'Price lists';
  summary: string;
  description: readonly string[];
  request?: Described & {
    /** An invalid body. The response to it is the example of the 400 response. */
    invalidExample: object;
  };
  response: Described & { description: string; headers?: HeaderName[] };
  /** Errors besides those of every operation and those of every operation with a body. */
  errors?: ErrorCode[];
}

type Functions = typeof functions;

/** The names of the HTTPS operations, which do not include the scheduled function. */
export type OperationName = {
  [Name in keyof Functions]: Functions[Name] extends OperationFunction ? Name : never;
}[keyof Functions];

export interface Operation extends OperationDescription {
  name: OperationName;
  info: OperationFunction['operation'];
}

const NULL_FIELDS =
  'A field of a record is null if the stored field is missing or malformed. Such records are included.';
const NULL_ORDER_FIELDS =
  'A field of an order is null if the stored field is missing or malformed. Such an order is included if it matches the request.';
const DATE_RANGE =
  '`start_date` is the first day, and `end_date` is the day after the last. An empty or reversed range selects nothing.';
const PREFLIGHT =
  'Before a page first sends the API key, its browser sends a preflight: `OPTIONS` without an API key. A 204 allows the call, and a 403 `Origin not allowed` does not. A GET from an origin that is not allowed, or without `Origin`, gets the response without CORS headers.';
const NO_PAGINATION = 'There is no pagination: one response contains everything.';

const order = {
  customer_data: { customer_id: 'cus-137', customer_name: 'Sahel Civil Works Ltd' },
  invoice_id: 'inv-2026-00332',
  market_id: 'mkt-uga',
  team_id: 'team-east-africa',
};
const incompleteOrder = {
  customer_data: { customer_id: 'cus-138', customer_name: null },
  invoice_id: null,
  market_id: 'mkt-tza',
  team_id: 'team-east-africa',
};
const supplyOrder = {
  id: 'sup-2026-0055',
  invoices: [
    {
      name: 'sup-2026-0055-invoice-1.pdf',
      url: 'https://documents.example.com/supply-orders/sup-2026-0055/sup-2026-0055-invoice-1.pdf',
    },
  ],
};

const descriptions: Record<OperationName, OperationDescription> = {
  addPriceLists: {
    tag: 'Price lists',
    summary: 'Add price lists',
    description: [
      'Creates a price list and an expected forward cost list for a market, exactly once for each `boq_list_id`. Both lists have one entry for each product.',
      'Sending the same payload again is always safe. Once the lists are created, you get the first response, byte for byte, with `Idempotent-Replayed: true`. The order of members, `1` or `1.0`, `usd` or `USD`, and unknown fields make no difference.',
      "Both lists have the market's currency. The service uses the request's `currency_iso` only if the market has no usable currency.",
      'If no market has the `market_id`, the service stores the request and creates no list. `market`, `expected_forward_cost` and `price_list` are then null. Unless an operator releases the `boq_list_id`, the same request gets the same response again, even if the market is created later. Send a correct `market_id` with a new `boq_list_id`.',
      `Allow up to ${functions.addPriceLists.operation.runtimeOptions.timeoutSeconds / 60} minutes for the largest lists.`,
    ],
    request: {
      schema: addPriceListsRequestSchema,
      examples: { june: { summary: 'Two products for June 2026', value: examples.priceList } },
      invalidExample: {
        info: { ...examples.priceList.info, date: '6/2026' },
        products: { 'CEM/50KG': { price_list_price: -1, expected_forward_cost_price: 826.71 } },
      },
    },
    response: {
      schema: addPriceListsResponseSchema,
      description:
        'Both lists are ready, created by this request or an earlier one. If no market has the `market_id`, the lists are null.',
      examples: {
        created: { summary: 'The market exists', value: examples.responses.created },
        accepted: { summary: 'No such market', value: examples.responses.accepted },
      },
      headers: ['Idempotent-Replayed'],
    },
    errors: [
      'idempotency_key_reused',
      'request_in_progress',
      'review_required',
      'creation_failed',
      'writes_paused',
      'too_many_price_lists',
    ],
  },
  getOrdersByTeam: {
    tag: 'Organisation data',
    summary: 'Get orders by team',
    description: [
      'Returns the orders of a team that were created within a range of days, with one status or any.',
      DATE_RANGE,
      NULL_ORDER_FIELDS,
      NO_PAGINATION,
    ],
    request: {
      schema: ordersByTeamRequestSchema,
      examples: { month: { summary: 'Delivered orders of July 2026', value: examples.ordersByTeam } },
      invalidExample: { ...examples.ordersByTeam, status: 'SHIPPED', start_date: '2026-02-30' },
    },
    response: {
      schema: bodies.createRecordMap('OrdersByTeamResponse', 'orders', orderSchema),
      description: 'The orders, keyed by their identifiers.',
      examples: {
        found: {
          summary: 'Two orders, one of them incomplete',
          value: { orders: { 'ord-2026-00332': order, 'ord-2026-00337': incompleteOrder }, count: 2 },
        },
        none: { summary: 'No order matches', value: { orders: {}, count: 0 } },
      },
    },
  },
  getWarehouses: {
    tag: 'Organisation data',
    summary: 'Get warehouses',
    description: [
      'Returns all warehouses. This is the only operation that pages of allowed origins may call.',
      NULL_FIELDS,
      NO_PAGINATION,
      PREFLIGHT,
    ],
    response: {
      schema: bodies.createRecordMap('WarehousesResponse', 'warehouses', warehouseSchema),
      description: 'The warehouses, keyed by their identifiers.',
      examples: {
        found: {
          summary: 'Two warehouses, one of them without a name',
          value: {
            warehouses: {
              'wh-nbo-1': { name: 'Nairobi Embakasi', country_iso: 'KEN' },
              'wh-coo-1': { name: null, country_iso: 'BEN' },
            },
            count: 2,
          },
        },
      },
    },
  },
  getMarkets: {
    tag: 'Organisation data',
    summary: 'Get markets',
    description: ['Returns all markets.', NULL_FIELDS, NO_PAGINATION],
    response: {
      schema: bodies.createRecordMap('MarketsResponse', 'markets', marketSchema),
      description: 'The markets, keyed by their identifiers.',
      examples: {
        found: {
          summary: 'One market',
          value: { markets: { 'mkt-ken': { name: 'Kenya', country_iso: 'KEN', currency_iso: 'KES' } }, count: 1 },
        },
      },
    },
  },
  getTeams: {
    tag: 'Organisation data',
    summary: 'Get teams',
    description: ['Returns all teams.', NULL_FIELDS, NO_PAGINATION],
    response: {
      schema: bodies.createRecordMap('TeamsResponse', 'teams', teamSchema),
      description: 'The teams, keyed by their identifiers.',
      examples: {
        found: {
          summary: 'One team',
          value: { teams: { 'team-east-africa': { name: 'East Africa', country_iso: 'KEN' } }, count: 1 },
        },
      },
    },
  },
  supplyOrdersInvoices: {
    tag: 'Organisation data',
    summary: 'Supply orders invoices',
    description: [
      'Returns the supply orders of a team that were created within a range of days, with their invoices.',
      DATE_RANGE,
      NO_PAGINATION,
    ],
    request: {
      schema: supplyOrdersInvoicesRequestSchema,
      examples: {
        quarter: { summary: 'Supply orders of a quarter with any status', value: examples.supplyOrdersInvoices },
      },
      invalidExample: { ...examples.supplyOrdersInvoices, team_id: '', status: '1' },
    },
    response: {
      schema: bodies.supplyOrdersInvoicesResponseSchema,
      description: 'The supply orders, oldest first.',
      examples: {
        found: {
          summary: 'Two supply orders, one without invoices',
          value: { supply_orders: [supplyOrder, { id: 'sup-2026-0056', invoices: [] }], count: 2 },
        },
      },
    },
  },
};

/** Returns every operation, in the order of the descriptions. */
export function getOperations(): Operation[] {
  return Object.entries(descriptions).map(([key, description]) => {
    const name = key as OperationName;
    return { name, info: functions[name].operation, ...description };
  });
}
