import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { openRequest } from '../../../dev/run/http';
import { addPriceLists } from '../../src/add-price-lists';
import { getMaxHeldBytes, toHeldBytes, type FunctionMemory } from '../../src/lib/memory';
import { PRICE_LISTS_BODY_LIMITS } from '../../src/lib/payload-limits';
import { sweepOptions, writeOptions } from '../../src/lib/runtime-options';
import { CONCURRENCY } from '../../src/price-lists/sweep';
import { isEntries } from '../../../test/harness/commits';
import { writeMarket } from '../../../test/harness/price-lists';
import { TEST_API_KEY, useTestService } from '../../../test/harness/service';
import { createPriceListBody } from '../../../test/harness/submissions';
import { waitFor } from '../../../test/harness/wait-for';

/** Tests how many creations and resumes fit into the memory of an instance (functions/src/lib/memory.ts). */

const service = useTestService({ addPriceLists });
beforeEach(() => writeMarket(service.db));

const { maxBytes } = PRICE_LISTS_BODY_LIMITS;

const countPlaces = (options: FunctionMemory) => Math.floor(getMaxHeldBytes(options) / toHeldBytes(maxBytes));

/** Number of bodies of the maximum size that an instance holds at once. */
const PLACES = countPlaces(writeOptions);

/** Creates a body of two products that has 32 MiB when it is inflated. */
function createLargeBody(boq_list_id: string): Buffer {
  const text = JSON.stringify(createPriceListBody(2, { boq_list_id }));
  return gzipSync(text.padEnd(maxBytes), { level: 1 });
}

const HEADERS = { 'x-api-key': TEST_API_KEY, 'content-type': 'application/json' };

const refused = { status: 503, json: { error: 'Too many price lists at once' } };

test('an instance of add price lists has memory for the largest body of each concurrent request, and the sweep for that of each resume', () => {
  expect(PLACES).toBeGreaterThanOrEqual(writeOptions.concurrency);
  expect(countPlaces(sweepOptions)).toBeGreaterThanOrEqual(CONCURRENCY);
});

test('of thirty bodies of 32 MiB that begin at once, those that do not fit are refused before they are read', async () => {
  const opened = Array.from({ length: 30 }, () => {
    const headers = { ...HEADERS, 'content-length': maxBytes };
    const { request, response } = openRequest(service.port('addPriceLists'), { method: 'POST', headers });
    request.flushHeaders();
    const settled = response
      .then(({ status, json, headers: received }) => ({ status, json, received }))
      .catch(() => null);
    return { request, settled };
  });
  const results: unknown[] = [];
  for (const { settled } of opened) void settled.then((result) => results.push(result));
  await waitFor(() => results.length >= 30 - PLACES);
  expect(results).toEqual(Array(30 - PLACES).fill(expect.objectContaining(refused)));
  expect(results).toContainEqual(
    expect.objectContaining({ received: expect.objectContaining({ 'retry-after': '10' }) as unknown }),
  );
  const line = { severity: 'NOTICE', status: 503, error_code: 'too_many_price_lists' };
  expect(service.log.filter(({ event }) => event === 'request')).toContainEqual(expect.objectContaining(line));
  for (const { request } of opened) request.destroy();
  await waitFor(() => service.log.filter(({ event }) => event === 'request').length === 30);
  expect((await service.call('addPriceLists', { json: createPriceListBody(2) })).status).toBe(200);
});

test('creations whose clients have left count against the memory of the instance until they end', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  const held = service.firestore.faults.inject({
    rpc: 'Commit',
    match: isEntries,
    times: Infinity,
    action: { kind: 'call', run: () => released },
  });
  const headers = { ...HEADERS, 'content-encoding': 'gzip' };
  for (let i = 0; i < PLACES; i += 1) {
    const { request, response } = openRequest(service.port('addPriceLists'), { method: 'POST', headers });
    request.end(createLargeBody(`boq-${i}`));
    response.catch(() => undefined);
    await waitFor(() => service.log.filter(({ event }) => event === 'price_list_claimed').length === i + 1);
    request.destroy();
  }
  await held.fired;
  const next = { headers: { 'content-encoding': 'gzip' }, body: createLargeBody('next') };
  expect(await service.call('addPriceLists', next)).toMatchObject(refused);
  // A small body still fits.
  const small = service.call('addPriceLists', { json: createPriceListBody(2, { boq_list_id: 'small' }) });
  release(undefined);
  await waitFor(() => service.log.filter(({ event }) => event === 'request').length === PLACES + 2);
  expect((await service.call('addPriceLists', next)).status).toBe(200);
  expect((await small).status).toBe(200);
  // Each large body is logged with its sender before it is scanned.
  expect(service.log.filter(({ event }) => event === 'large_body')).toContainEqual(
    expect.objectContaining({ operation: 'addPriceLists', key_id: expect.any(String) as string, bytes: maxBytes }),
  );
});

test('a compressed body that could inflate to 32 MiB counts only by its inflated size once it is inflated', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  const action = { kind: 'call', run: () => released } as const;
  service.firestore.faults.inject({ rpc: 'Commit', match: isEntries, times: Infinity, action });
  const headers = { 'content-encoding': 'gzip' };
  const creating = [];
  for (let i = 0; i < PLACES + 2; i += 1) {
    const { info } = createPriceListBody(0, { boq_list_id: `boq-${i}` });
    const ids = Array.from({ length: 1_500 }, () => randomBytes(20).toString('hex'));
    const prices = { price_list_price: 1, expected_forward_cost_price: 1 };
    const text = JSON.stringify({ info, products: Object.fromEntries(ids.map((id) => [id, prices])) });
    const body = gzipSync(text, { level: 9 });
    // Gzip can inflate a body to 1,032 times its size. So until this body is inflated, it counts as 32 MiB.
    expect(body.length * 1_032).toBeGreaterThan(maxBytes);
    creating.push(service.call('addPriceLists', { headers, body }));
    await waitFor(() => service.log.filter(({ event }) => event === 'price_list_claimed').length === i + 1);
  }
  release(undefined);
  expect((await Promise.all(creating)).map(({ status }) => status)).toEqual(Array(PLACES + 2).fill(200));
});

test.each([
  ['plain', (text: string) => ({ body: text })],
  ['compressed', (text: string) => ({ body: gzipSync(text), headers: { 'content-encoding': 'gzip' } })],
])('fifty small lists that are sent at once, %s, are created', async (_, encode) => {
  const sent = Array.from({ length: 50 }, (__, i) => {
    const json = JSON.stringify(createPriceListBody(10, { boq_list_id: `boq-${i}` }));
    return service.call('addPriceLists', encode(json));
  });
  expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(Array(50).fill(200));
});
