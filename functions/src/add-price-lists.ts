import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { defineEndpoint } from './lib/http/endpoint';
import { createPriceListLogger } from './lib/logging';
import { PRICE_LISTS_BODY_LIMITS } from './lib/payload-limits';
import { getDatabase } from './lib/firestore/database';
import { createPriceListParser } from './lib/schemas/add-price-lists';
import { FAILURE_RESERVE_MS, RESPONSE_RESERVE_MS, writeOptions } from './lib/runtime-options';
import { createPriceLists } from './price-lists/create-price-lists';

let isHeapBounded = false;

/**
 * Bounds how fast V8's heap grows under the garbage of a body (docs/performance.md#memory-of-a-creation). Called with the first
 * request, since V8 accepts a compile cache only under the flags that it was made with.
 */
function boundHeapGrowth(): void {
  if (isHeapBounded) return;
  isHeapBounded = true;
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=20');
}

export const addPriceLists = defineEndpoint({
  name: 'addPriceLists',
  onShutdown: 'abort',
  runtimeOptions: writeOptions,
  timeoutMarginMs: FAILURE_RESERVE_MS + RESPONSE_RESERVE_MS,
  body: {
    ...PRICE_LISTS_BODY_LIMITS,
    createParser: () => {
      boundHeapGrowth();
      return createPriceListParser();
    },
  },
  handler: async (context, submission, requestId) => {
    const { response, replayed } = await createPriceLists(submission, {
      db: getDatabase(context),
      newToken: randomUUID,
      requestId,
      log: createPriceListLogger(requestId),
    });
    const count = submission.products.ids.length;
    return { body: response, replayed, count, headers: replayed ? { 'Idempotent-Replayed': 'true' } : {} };
  },
});
