import type { ActorSpec, Scenario } from './moves';
import { CLOCK_MARGIN_MS } from './state';

/** The scenarios that are explored: small enough for each space to be closed, and all together for a minute. */

const clientA: ActorSpec = { role: 'client', name: 'client A', payload: 'payload 1', requests: 1 };
const clientB: ActorSpec = { role: 'client', name: 'client B', payload: 'payload 1', requests: 1 };
const stranger: ActorSpec = { role: 'client', name: 'client B', payload: 'payload 2', requests: 1 };
const operator: ActorSpec = { role: 'operator', name: 'operator', decisions: 1 };
const sweep1: ActorSpec = { role: 'sweep', name: 'sweep 1' };
const sweep2: ActorSpec = { role: 'sweep', name: 'sweep 2', clockAheadMs: CLOCK_MARGIN_MS };

/** Client A has claimed the key and sent its first batch. Then it froze, until its lease had expired. */
const LATE_OWNER = [
  'client A reads the key: submitted',
  'client A commits: submitted, owned',
  'client A sends the entries of the cost list',
  'time passes',
  'time passes',
  'time passes',
];

/** The claim of client A took effect, but the reply was lost. Before its next try an operator released the key. */
const LATE_CLAIM = [
  'client A reads the key: submitted',
  'client A commits: submitted, and the reply is lost',
  'time passes',
  'time passes',
  'time passes',
  'operator decides to release client A/1',
  'operator reads the key: released',
  'operator commits: released, available',
];

export const SCENARIOS = {
  onePayload: {
    name: 'two clients with one payload, and a sweep',
    actors: [clientA, clientB, sweep1],
    chunks: 1,
    faults: 1,
    maxResumes: 1,
  },
  twoPayloads: {
    name: 'two clients with two payloads, and an operator',
    actors: [clientA, stranger, operator],
    chunks: 1,
    faults: 1,
    maxResumes: 1,
  },
  twoFaults: {
    name: 'a client and a sweep, with two faults',
    actors: [clientA, sweep2],
    chunks: 1,
    faults: 2,
    maxResumes: 2,
  },
  twoChunks: {
    name: 'a client with a payload of two chunks, and two sweeps',
    actors: [clientA, sweep1, sweep2],
    chunks: 2,
    faults: 1,
    maxResumes: 1,
  },
  twoRequests: {
    name: 'a client that tries again, and an operator, with a payload of two chunks',
    actors: [
      { ...clientA, requests: 2 },
      { ...operator, decisions: 2 },
    ],
    chunks: 2,
    faults: 1,
    maxResumes: 1,
  },
  lateOwner: {
    name: 'a late owner, another client, an operator and a sweep',
    actors: [clientA, clientB, operator, sweep2],
    chunks: 1,
    faults: 0,
    maxResumes: 1,
    prologue: LATE_OWNER,
  },
  lateOwnerTwoPayloads: {
    name: 'a late owner, a client with another payload, and two sweeps',
    actors: [clientA, stranger, sweep1, sweep2],
    chunks: 1,
    faults: 0,
    maxResumes: 1,
    prologue: LATE_OWNER,
  },
  lateClaim: {
    name: 'a client that does not know that its claim took effect and was released, another payload, and an operator',
    actors: [clientA, stranger, { ...operator, decisions: 2 }],
    chunks: 1,
    faults: 0,
    maxResumes: 1,
    prologue: LATE_CLAIM,
  },
  withoutMarket: {
    name: 'two clients with one payload without a market, an operator and a sweep',
    actors: [clientA, clientB, operator, sweep2],
    chunks: 1,
    hasMarket: false,
    faults: 2,
    maxResumes: 1,
  },
  everybody: {
    name: 'two clients with two payloads, an operator and a sweep',
    actors: [clientA, stranger, operator, sweep2],
    chunks: 1,
    faults: 0,
    maxResumes: 1,
  },
} satisfies Record<string, Scenario>;

/** Clocks that differ by more than the margin: an attempt may lose its key, but nothing else. */
export const CLOCKS_BEYOND_MARGIN: Scenario = {
  name: 'a client, and a sweep whose clock is too far ahead',
  actors: [clientA, { ...sweep1, clockAheadMs: 3 * CLOCK_MARGIN_MS }],
  chunks: 1,
  faults: 1,
  maxResumes: 1,
};
