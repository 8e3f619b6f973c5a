import { ApiError } from '../../functions/src/lib/errors';
import { keyDocumentId } from '../../functions/src/lib/schemas/key-record';
import type { WorkContext } from '../../functions/src/lib/work-context';
import { LEASE_DURATION_MS } from '../../functions/src/lib/time-limits';
import { createPriceLists, type CreationResult } from '../../functions/src/price-lists/create';
import { Attempt } from '../../functions/src/price-lists/attempt';
import { TEST_BATCH } from './batches';
import { checkInvariants } from './invariants';
import { TEST_START, useTestDatabase } from './database';
import { createKeyRecord } from './key-records';
import { TEST_REQUEST, writeMarket } from './price-lists';
import { createPriceListBody, parseSubmission, type PriceListBody } from './submissions';

/** A body of two batches per list. */
export const BODY = createPriceListBody(TEST_BATCH + 1);

interface Creation {
  result: CreationResult | ApiError;
}

/** Returns the code of a rejected creation and its `Retry-After`. Returns the result of any other creation. */
export const getRejection = ({ result }: Creation) =>
  result instanceof ApiError ? [result.code, result.headers['Retry-After']] : result;

export const getResponse = ({ result }: Creation): string => {
  if (result instanceof Error) throw result;
  return result.response;
};

/** Gives each test of a file an empty database with a market, and functions that create price lists without HTTP and read their keys. */
export function useCreations() {
  const database = useTestDatabase();
  beforeEach(async () => {
    database.reset();
    await writeMarket(database.client);
  });
  afterEach(() => jest.restoreAllMocks());

  async function create(body: PriceListBody = BODY, changed: Partial<WorkContext> = {}) {
    const logged: unknown[][] = [];
    const writeTo =
      (event: string) =>
      (...fields: unknown[]) =>
        void logged.push([event, ...fields]);
    const log = {
      claimed: writeTo('claimed'),
      completed: writeTo('completed'),
      failed: writeTo('failed'),
      superseded: writeTo('superseded'),
    };
    const { db, context } = database.open(changed);
    const request = { ...TEST_REQUEST, log };
    const result = await createPriceLists(parseSubmission(body), request, db).catch(
      (error: unknown) => error as ApiError,
    );
    return { result, logged, context };
  }

  /** Stores the record of an attempt in progress. @returns the attempt as its owner runs it */
  async function startAttempt(changed: Partial<WorkContext> = {}) {
    const { db, context } = database.open(changed);
    const record = createKeyRecord({ owner: 'owner-1', lease_expires_at: TEST_START + LEASE_DURATION_MS });
    await getKey().set(record);
    const held = { kind: 'owned', record, heldUntil: context.clock.elapsedMs() + LEASE_DURATION_MS } as const;
    return new Attempt(held, { reference: getKey(), db }, 'attempt');
  }

  const getKey = (key = 'boq-1') => database.client.collection('price_list_idempotency').doc(keyDocumentId(key));
  const readKey = async (key?: string) => (await getKey(key).get()).data() ?? {};
  const check = (...bodies: PriceListBody[]) => checkInvariants(database.client, bodies.map(parseSubmission));

  return { database, create, startAttempt, getKey, readKey, check };
}
