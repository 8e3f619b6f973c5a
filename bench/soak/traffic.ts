import { randomUUID } from 'node:crypto';
import { getDelayMs, judgeResponse } from '../../docs/examples/client/src/retry';
import type { Random } from '../../local/sample/random';
import type { OperationName } from '../../functions/test/support/operations';
import { createPriceListBody } from '../../functions/test/support/submissions';
import type { BenchRequest, BenchResponse } from '../client';

/** The requests of the soak, and what their responses may be. */

/** What a request is for. */
export const REQUEST_KINDS = ['read', 'create', 'replay', 'conflict', 'rejected'] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

interface SoakList {
  boq_list_id: string;
  products: number;
}

/** A list whose creation got 200, with the body of that response. */
export interface CreatedList extends SoakList {
  text: string;
}

export interface SoakRequest extends BenchRequest {
  kind: RequestKind;
  operation: OperationName;
  /** The list that is created or replayed; `text` is the response that a replay must get. */
  list?: SoakList & { text?: string };
  /** The status that is right at any time. */
  expectedStatus: number;
}

/** A disturbance of Firestore or of the service, in milliseconds since the start. */
export interface Disturbance {
  kind: 'Firestore hangs' | 'Firestore is dead' | 'Add price lists is stopped and started';
  from: number;
  to: number;
}

/** How much longer than a disturbance a response may take: a call is retried for a minute. */
const GRACE_MS = 60_000;
/** How long after a disturbance a request may still fail, because connections come back late. */
const RECOVERY_MS = 20_000;

const createRead = (operation: OperationName): SoakRequest => ({
  kind: 'read',
  operation,
  method: 'GET',
  expectedStatus: 200,
});

const createPost = (operation: OperationName, body: object): SoakRequest => ({
  ...createRead(operation),
  method: 'POST',
  body: Buffer.from(JSON.stringify(body)),
});

function createSubmission(kind: RequestKind, list: SoakList, more = 0): SoakRequest {
  const { boq_list_id, products } = list;
  const body = createPriceListBody(products + more, { boq_list_id });
  return { ...createPost('addPriceLists', body), kind, list };
}

const REJECTED: readonly [SoakRequest, ...SoakRequest[]] = [
  { ...createRead('getTeams'), kind: 'rejected', key: 'wrong', expectedStatus: 401 },
  { ...createRead('getMarkets'), kind: 'rejected', method: 'PUT', expectedStatus: 405 },
  { ...createPost('getOrdersByTeam', { status: 'NONE' }), kind: 'rejected', expectedStatus: 400 },
  { ...createPost('addPriceLists', { products: {} }), kind: 'rejected', expectedStatus: 400 },
];

/** The next request of a client: mostly reads and creations, and some of every other kind. */
export function nextRequest(random: Random, created: readonly CreatedList[]): SoakRequest {
  const team_id = `team-${random.int(0, 49)}`;
  const range = { team_id, start_date: '2026-01-01', end_date: '2026-02-01' };
  const known = created[random.int(0, created.length - 1)];
  const chance = random.next();
  if (chance < 0.35) return createRead(random.pick(['getTeams', 'getMarkets', 'getWarehouses']));
  if (chance < 0.5) {
    return createPost('getOrdersByTeam', { ...range, status: random.pick(['ALL', 'WAITING']) });
  }
  if (chance < 0.6) {
    return createPost('supplyOrdersInvoices', { ...range, status: random.pick([0, 1, null]) });
  }
  if (chance < 0.7 && known !== undefined) return createSubmission('replay', known);
  if (chance < 0.75 && known !== undefined) {
    return { ...createSubmission('conflict', known, 1), expectedStatus: 409 };
  }
  if (chance < 0.85) return random.pick(REJECTED);
  const products = random.pick([1, 10, 100, 600, 5_000]);
  return createSubmission('create', { boq_list_id: randomUUID(), products });
}

/** @returns when a client sends a request again, by the typed client; undefined if it does not */
export function findRetryDelayMs(response: BenchResponse, tries: number): number | undefined {
  const { status, headers, body } = response;
  if (status === 0) return getDelayMs(tries);
  const judgement = judgeResponse({ status, headers, text: body.toString() });
  return judgement.kind === 'retry' ? (judgement.afterMs ?? getDelayMs(tries)) : undefined;
}

/** A request that was sent, and ended, in milliseconds since the start. */
interface SentRequest {
  request: SoakRequest;
  response: BenchResponse;
  /** Earlier tries of this request. */
  earlierTries: number;
  from: number;
  to: number;
}

/** @returns what is wrong with a response. A disturbance excuses a 500; a stopped service also excuses a lost connection. */
export function findResponseFault(
  { request, response, earlierTries, from, to }: SentRequest,
  disturbances: readonly Disturbance[],
): string | undefined {
  const { kind, operation, expectedStatus, list } = request;
  const { status } = response;
  const text = response.body.toString();
  const isStop = (each: Disturbance) => each.kind.startsWith('Add price lists');
  const isConcerned = (each: Disturbance) => !isStop(each) || operation === 'addPriceLists';
  const isNear = (each: Disturbance) => from < each.to + RECOVERY_MS && to > each.from;
  const felt = disturbances.filter((each) => isConcerned(each) && isNear(each));
  const longestMs = GRACE_MS + Math.max(0, ...felt.map((each) => each.to - each.from));
  if (to - from > longestMs) return `${kind} took ${Math.round(to - from)} ms`;
  if (kind === 'replay' && status === 200 && text !== list?.text) {
    return `${list?.boq_list_id} was replayed with another response`;
  }
  if (status === expectedStatus) return undefined;
  if (status === 500 && felt.length > 0) return undefined;
  if (status === 0 && (response.isReusedConnection || felt.some(isStop))) return undefined;
  // The sweep or an earlier try holds the key.
  const isBusy = kind === 'create' && status === 409;
  if (isBusy && (earlierTries > 0 || felt.length > 0)) return undefined;
  return `${kind} at ${Math.round(from)} ms got ${status}: ${text.slice(0, 200)}`;
}
