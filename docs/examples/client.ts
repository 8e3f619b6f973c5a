import type { operations } from './api';

/**
 * A small typed client. Its types are generated from docs/openapi.json; copy this file and api.d.ts into your project.
 */

type OrdersByTeam = operations['getOrdersByTeam'];
type SupplyOrdersInvoices = operations['supplyOrdersInvoices'];
type AddPriceLists = operations['addPriceLists'];

type Body<Operation extends { requestBody: { content: { 'application/json': unknown } } }> =
  Operation['requestBody']['content']['application/json'];
type Answer<Operation extends { responses: { 200: { content: { 'application/json': unknown } } } }> =
  Operation['responses'][200]['content']['application/json'];

/** An answer other than 200. */
export class Refused extends Error {
  readonly status: number;
  /** `{ error }`, or `{ success, message, errors }` for a payload that breaks a rule. */
  readonly body: unknown;
  /** Quote it when you ask us about this request. */
  readonly requestId: string | null;

  constructor(response: Response, body: unknown) {
    super(`${response.status} ${JSON.stringify(body)}`);
    this.status = response.status;
    this.body = body;
    this.requestId = response.headers.get('X-Request-Id');
  }
}

/** A client of the operations below one base, such as `http://127.0.0.1:5001/demo-price-lists/us-central1`. */
export function createClient(baseUrl: string, apiKey: string) {
  async function call<T>(operation: string, body?: unknown): Promise<T> {
    const headers = { 'x-api-key': apiKey };
    const request =
      body === undefined
        ? { headers }
        : { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(`${baseUrl}/${operation}`, request);
    const answer: unknown = await response.json();
    if (!response.ok) throw new Refused(response, answer);
    return answer as T;
  }

  return {
    getOrdersByTeam: (body: Body<OrdersByTeam>) => call<Answer<OrdersByTeam>>('getOrdersByTeam', body),
    getWarehouses: () => call<Answer<operations['getWarehouses']>>('getWarehouses'),
    getMarkets: () => call<Answer<operations['getMarkets']>>('getMarkets'),
    getTeams: () => call<Answer<operations['getTeams']>>('getTeams'),
    supplyOrdersInvoices: (body: Body<SupplyOrdersInvoices>) =>
      call<Answer<SupplyOrdersInvoices>>('supplyOrdersInvoices', body),
    addPriceLists: (body: Body<AddPriceLists>) => call<Answer<AddPriceLists>>('addPriceLists', body),
  };
}
