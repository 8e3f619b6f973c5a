import { defineEndpoint } from './lib/http/endpoint';
import { createPriceListLogger } from './lib/logging/price-lists';
import { PRICE_LISTS_BODY_LIMITS } from './lib/payload-limits';
import { getDatabase } from './lib/firestore/database';
import { writeOptions } from './lib/runtime-options';
import { parsePriceLists, priceListsShape } from './lib/schemas/add-price-lists';
import { createPriceLists } from './price-lists/create';

export const addPriceLists = defineEndpoint({
  name: 'addPriceLists',
  writes: true,
  runtimeOptions: writeOptions,
  body: { ...PRICE_LISTS_BODY_LIMITS, shape: priceListsShape, parse: parsePriceLists },
  handler: async (context, submission, sender) => {
    const request = { ...sender, log: createPriceListLogger(sender.requestId) };
    const { response, replayed, facts } = await createPriceLists(submission, request, getDatabase(context));
    const count = submission.products.ids.length;
    return { body: response, replayed, count, facts, headers: replayed ? { 'Idempotent-Replayed': 'true' } : {} };
  },
});
