import { randomUUID } from 'node:crypto';
import { type Agent, type IncomingHttpHeaders, request as openRequest } from 'node:http';
import { getDelayMs, judgeResponse } from '../../docs/examples/client/src/retry';
import type { Random } from '../../local/sample/random';
import type { OperationName } from '../../functions/test/support/operations';
import { createPriceListBody } from '../../functions/test/support/submissions';

/** The requests of the soak, and what their responses may be. */

export const SOAK_API_KEY = 'soak-key';

/** What a request is for. */
export type RequestKind = 'read' | 'create' | 'replay' | 'conflict' | 'rejected';

export interface SoakList {
  boq_list_id: string;
  products: number;
}

/** A list whose creation got 200, with the body of that response. */
export interface CreatedList extends SoakList {
  text: string;
}

export interface SoakRequest {
  kind: RequestKind;
  operation: OperationName;
  method: 'GET' | 'POST' | 'PUT';
  key: string;
  body: string;
  /** The list that is created or replayed; `text` is the response that a replay must get. */
  list: SoakList & { text?: string };
  /** Statuses that are right at any time. */
  expectedStatuses: readonly number[];
}

export interface HttpResponse {
  /** 0: the connection was rejected or closed without a response. */
  status: number;
  text: string;
  headers: IncomingHttpHeaders;
  /** Whether an earlier request used the connection: the server may close such a one when it was idle. */
  isReusedConnection: boolean;
}

/** A disturbance of Firestore or of the service, in milliseconds since the start. */
export interface SoakDisturbance {
  kind: 'firestore_hangs' | 'firestore_dead' | 'service_stopped';
  from: number;
  to: number;
}

/** A response may be late by a whole disturbance and by this much: a call is retried for a minute. */
const GRACE_MS = 60_000;
/** How long after a disturbance a request may still fail: connections are made again after a delay. */
const RECOVERY_MS = 20_000;

const NO_LIST: SoakList = { boq_list_id: '', products: 0 };

export const createRead = (operation: OperationName): SoakRequest => ({
  kind: 'read',
  operation,
  method: 'GET',
  key: SOAK_API_KEY,
  body: '',
  list: NO_LIST,
  expectedStatuses: [200],
});

const createPost = (operation: OperationName, body: object): SoakRequest => ({
  ...createRead(operation),
  method: 'POST',
  body: JSON.stringify(body),
});

const createSubmission = (list: SoakRequest['list'], products = list.products): SoakRequest =>
  createPost('addPriceLists', createPriceListBody(products, { boq_list_id: list.boq_list_id, market_id: 'market-1' }));

export const createCreation = (list: SoakList): SoakRequest => ({ ...createSubmission(list), kind: 'create', list });

/** The next request of a client: mostly reads and creations, with replays, conflicts and rejected requests among them. */
export function nextRequest(random: Random, created: readonly CreatedList[]): SoakRequest {
  const range = { team_id: `team-${random.int(0, 49)}`, start_date: '2026-01-01', end_date: '2026-02-01' };
  const known = created[random.int(0, created.length - 1)];
  const chance = random.next();
  if (chance < 0.35) return createRead(random.pick(['getTeams', 'getMarkets', 'getWarehouses']));
  if (chance < 0.5) return createPost('getOrdersByTeam', { ...range, status: random.pick(['ALL', 'WAITING']) });
  if (chance < 0.6) return createPost('supplyOrdersInvoices', { ...range, status: random.pick([0, 1, null]) });
  if (chance < 0.7 && known !== undefined) return { ...createSubmission(known), kind: 'replay', list: known };
  if (chance < 0.75 && known !== undefined)
    return { ...createSubmission(known, known.products + 1), kind: 'conflict', expectedStatuses: [409] };
  if (chance < 0.85) {
    return random.pick<SoakRequest>([
      { ...createRead('getTeams'), kind: 'rejected', key: 'wrong', expectedStatuses: [401] },
      { ...createRead('getMarkets'), kind: 'rejected', method: 'PUT', expectedStatuses: [405] },
      { ...createPost('getOrdersByTeam', { status: 'NONE' }), kind: 'rejected', expectedStatuses: [400] },
      { ...createPost('addPriceLists', { products: {} }), kind: 'rejected', expectedStatuses: [400] },
    ]);
  }
  return createCreation({ boq_list_id: randomUUID(), products: random.pick([1, 10, 100, 600]) });
}

/** Sends a request once. Never rejects. */
export function sendOnce(agent: Agent, port: number, { method, key, body }: SoakRequest): Promise<HttpResponse> {
  return new Promise((resolve) => {
    const onError = ({ message }: Error) =>
      resolve({ status: 0, text: message, headers: {}, isReusedConnection: sent.reusedSocket });
    const headers = { 'x-api-key': key, ...(body !== '' && { 'content-type': 'application/json' }) };
    const sent = openRequest({ host: '127.0.0.1', port, method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', onError);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(chunks).toString(),
          headers: response.headers,
          isReusedConnection: sent.reusedSocket,
        }),
      );
    });
    sent.on('error', onError);
    sent.end(body);
  });
}

/** @returns the pause before a client sends the request again, by the rule of the typed client; undefined if it does not */
export function findRetryDelayMs(response: HttpResponse, tries: number): number | undefined {
  if (response.status === 0) return getDelayMs(tries);
  const judgement = judgeResponse(response);
  return judgement.kind === 'retry' ? (judgement.afterMs ?? getDelayMs(tries)) : undefined;
}

/** One try of a request: when it was sent and ended, in milliseconds since the start. */
export interface SoakTry {
  request: SoakRequest;
  response: HttpResponse;
  /** Tries of this request before. */
  earlierTries: number;
  from: number;
  to: number;
}

/** @returns what is wrong with a response; a disturbance excuses a 500, and a stopped service also a lost connection */
export function findResponseFault(
  { request, response, earlierTries, from, to }: SoakTry,
  disturbances: readonly SoakDisturbance[],
): string | undefined {
  const { kind, operation, expectedStatuses, list } = request;
  const { status, text } = response;
  const stoppable = operation === 'addPriceLists';
  const felt = disturbances.filter(
    (each) => (each.kind !== 'service_stopped' || stoppable) && from < each.to + RECOVERY_MS && to > each.from,
  );
  const longestMs = GRACE_MS + Math.max(0, ...felt.map((each) => each.to - each.from));
  if (to - from > longestMs) return `${kind} took ${Math.round(to - from)} ms`;
  if (kind === 'replay' && status === 200 && text !== list.text)
    return `${list.boq_list_id} was replayed with another response`;
  if (expectedStatuses.includes(status)) return undefined;
  if (status === 500 && felt.length > 0) return undefined;
  if (status === 0 && (response.isReusedConnection || felt.some((each) => each.kind === 'service_stopped')))
    return undefined;
  // The sweep or an earlier try is at work on the key.
  if (kind === 'create' && status === 409 && (earlierTries > 0 || felt.length > 0)) return undefined;
  return `${kind} at ${Math.round(from)} ms got ${status}: ${text.slice(0, 200)}`;
}
