import { randomUUID } from 'node:crypto';
import { systemClock } from './lib/clock';
import { endpoint } from './lib/http/endpoint';
import { priceListLog } from './lib/logging';
import { openDatabase } from './lib/repositories/database';
import { priceListReader } from './lib/schemas/add-price-lists';
import { LEASE_MS, WRITE_BODY_MS, writeSettings } from './lib/settings';
import { addPriceLists as create, RESERVE_MS } from './price-lists/workflow';

/** Milliseconds that are left for the answer once a run has used what it keeps back for failing its attempt. */
const ANSWER_MS = 15_000;

/** Add price lists (contract, section 4.6). */
export const addPriceLists = endpoint({
  name: 'addPriceLists',
  method: 'POST',
  settings: writeSettings,
  bodyMs: WRITE_BODY_MS,
  reserveMs: RESERVE_MS + ANSWER_MS,
  reader: priceListReader,
  work: async ({ usage, requestId }, submission) => {
    const { response, replayed } = await create(submission, {
      db: openDatabase(usage),
      clock: systemClock,
      random: Math.random,
      newToken: randomUUID,
      signal: usage.signal,
      leaseMs: LEASE_MS,
      log: priceListLog(requestId),
    });
    const count = submission.products.ids.length;
    return { body: response, replayed, count, headers: replayed ? { 'Idempotent-Replayed': 'true' } : {} };
  },
});
