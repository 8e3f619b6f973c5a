import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { operations as Api } from './api.js';
import { send, type IsSuccess, type SendOptions } from './http.js';
import { operations } from './operations.js';

/** A typed client of the service. `npm run generate` writes `api.ts` and `operations.ts`. */

export type { components } from './api.js';
export { HttpError } from './http.js';

export type OperationName = keyof typeof operations;

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never;

/** The request body of an operation; `never` if the request has none. */
export type RequestBody<Name extends OperationName> = Json<Api[Name]['requestBody']>;
export type ResponseBody<Name extends OperationName> = Json<Api[Name]['responses'][200]>;

/** The response of add price lists for a market that exists. Both lists are ready. */
export type CreatedPriceLists = {
  [Key in keyof ResponseBody<'addPriceLists'>]: NonNullable<ResponseBody<'addPriceLists'>[Key]>;
};

export type CallOptions = Pick<SendOptions, 'signal'>;
export type ClientOptions = Omit<SendOptions, 'signal'>;

type Call<Name extends OperationName> = [RequestBody<Name>] extends [never]
  ? (options?: CallOptions) => Promise<ResponseBody<Name>>
  : (body: RequestBody<Name>, options?: CallOptions) => Promise<ResponseBody<Name>>;

type Calls = { readonly [Name in OperationName]: Call<Name> };

/** One method for each operation. */
export interface Client extends Omit<Calls, 'addPriceLists'> {
  /**
   * @throws UnusableListsError if no list was created, or if the lists have a different currency from the request's and
   *   `allowOtherCurrency` is not true
   * @throws HttpError, another error of the last request, or the reason of `signal`, as every operation does
   */
  readonly addPriceLists: (
    body: RequestBody<'addPriceLists'>,
    options?: CallOptions & { allowOtherCurrency?: boolean },
  ) => Promise<CreatedPriceLists>;
}

/** The service created no list, or stored the lists in a different currency from the request's. `cause` is the response. */
export class UnusableListsError extends Error {
  override readonly name = 'UnusableListsError';
}

/**
 * @param baseUrl the part that the addresses of all operations have in common
 * @throws TypeError if `baseUrl` is not an HTTP URL, `apiKey` is empty, has a space or is not printable ASCII, or a time is
 *   not a whole number of milliseconds that a timer of Node accepts
 */
export function createClient(baseUrl: string, apiKey: string, options: ClientOptions = {}): Client {
  if (!/^https?:/.test(baseUrl) || !URL.canParse(baseUrl)) throw new TypeError('baseUrl must be an HTTP URL');
  if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('apiKey must be printable ASCII without spaces, and not empty');
  for (const name of ['retryForMs', 'requestTimeoutMs'] as const) {
    const ms = options[name] ?? 1;
    if (!Number.isInteger(ms) || ms < 1 || ms >= 2 ** 31)
      throw new TypeError(`${name} must be a whole number from 1 to 2147483647`);
  }

  const call = async (
    name: OperationName,
    value: unknown,
    callOptions?: CallOptions,
    isExpected: IsSuccess = () => true,
  ): Promise<unknown> => {
    const { method, timeoutMs, members } = operations[name];
    const headers: Record<string, string> = { 'x-api-key': apiKey, 'accept-encoding': 'gzip' };
    const json = value === undefined ? null : JSON.stringify(value);
    const isLarge = json !== null && json.length >= 64 * 1024;
    if (json !== null) headers['content-type'] = 'application/json';
    if (isLarge) headers['content-encoding'] = 'gzip';
    const body = isLarge ? await promisify(gzip)(json) : json;
    const url = `${baseUrl.replace(/(?<!\/)\/+$/, '')}/${name}`;
    const isSuccess: IsSuccess = (response) =>
      members.every((member) => Object.hasOwn(Object(response) as object, member)) && isExpected(response);
    return send(url, { method, headers, body }, isSuccess, timeoutMs, { ...options, ...callOptions });
  };
  const toMethod = (name: OperationName) =>
    operations[name].method === 'GET'
      ? (callOptions?: CallOptions) => call(name, undefined, callOptions)
      : (body: unknown, callOptions?: CallOptions) => call(name, body, callOptions);
  const methods = Object.keys(operations).map((name) => [name, toMethod(name as OperationName)]);
  const calls = Object.fromEntries(methods) as Calls;

  const addPriceLists: Client['addPriceLists'] = async (body, { allowOtherCurrency, ...callOptions } = {}) => {
    const isExpected = (value: unknown) => {
      const { success, products_count, price_list, expected_forward_cost } = value as ResponseBody<'addPriceLists'>;
      const lists = [price_list, expected_forward_cost];
      const isReady = lists.every((list) => list === null) || lists.every((list) => list?.status === 'ready');
      return success && products_count === Object.keys(body.products).length && isReady;
    };
    const value = await call('addPriceLists', body, callOptions, isExpected);
    const response = value as ResponseBody<'addPriceLists'>;
    const fail = (reason: string) => Promise.reject(new UnusableListsError(reason, { cause: response }));
    if (response.price_list === null) return fail('no list was created, because no market has the market_id');
    const sent = body.info.currency_iso.toUpperCase();
    const stored = response.price_list.currency;
    if (sent === stored || allowOtherCurrency) return response as CreatedPriceLists;
    return fail(`the prices are stored as ${stored}, the currency of the market, not as ${sent}`);
  };
  return { ...calls, addPriceLists };
}
