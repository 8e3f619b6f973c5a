import type { DocumentReference, DocumentSnapshot } from 'firebase-admin/firestore';
import { addPriceLists } from '../../src/add-price-lists';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { RULES } from '../../audit/invariants';
import { TEST_BATCH, useTestBatches } from '../resilience/calls';
import { submitAndFail, writeMarket, type AddPriceListsBody, updateKey } from '../support/price-lists';
import { getAuditReads } from '../support/billed-documents';
import { useTestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';
import { runCommand } from './command';

/** The audit: what it finds of records that were corrupted one at a time, and that it reports nothing else. */

jest.setTimeout(120_000);

const service = useTestService({ addPriceLists });
beforeAll(useTestBatches);
beforeEach(async () => {
  service.reset();
  await writeMarket(service.db);
});

const PRODUCTS = TEST_BATCH + 1;

/** Where the records of one attempt are. */
interface Attempt {
  key: DocumentReference;
  request: DocumentReference;
  chunk: DocumentReference;
  costList: DocumentReference;
  priceList: DocumentReference;
}

async function findAttempt(boqListId: string): Promise<Attempt> {
  const key = service.db.collection('price_list_idempotency').doc(keyDocumentId(boqListId));
  return toAttempt(key, (await key.get()).data() as StoredAttempt);
}

interface StoredAttempt {
  document_id: string;
  creation: { expected_forward_cost_id: string; price_list_id: string };
}

function toAttempt(key: DocumentReference, { document_id, creation }: StoredAttempt): Attempt {
  const request = service.db.collection('price_list_requests').doc(document_id);
  return {
    key,
    request,
    chunk: request.collection('payload').doc('0000'),
    costList: service.db.collection('expected_forward_costs').doc(creation.expected_forward_cost_id),
    priceList: service.db.collection('price_lists').doc(creation.price_list_id),
  };
}

const createBody = (key: string) => createPriceListBody(PRODUCTS, { boq_list_id: key });

async function submit(key: string): Promise<AddPriceListsBody> {
  const { status, json } = await service.call('addPriceLists', { json: createBody(key) });
  expect(status).toBe(200);
  return json as AddPriceListsBody;
}

const failAttempt = (key: string): Promise<void> => submitAndFail(service, createBody(key));

/** A database with keys in every state, all as it should be. */
interface Seed {
  completed: Attempt;
  /** Of another key. */
  other: Attempt;
  failed: Attempt;
  /** The attempt of the history of `released`, whose key is completed by a later one. */
  released: Attempt;
}

async function seed(): Promise<Seed> {
  await submit('completed');
  await submit('other');
  await failAttempt('failed');
  await failAttempt('released');
  const released = await findAttempt('released');
  expect((await runCommand('release', 'released', '--reason', 'test', '--yes')).code).toBe(0);
  await submit('released');
  expect(
    (
      await service.call('addPriceLists', {
        json: createPriceListBody(1, { boq_list_id: 'no market', market_id: 'none' }),
      })
    ).status,
  ).toBe(200);
  return {
    completed: await findAttempt('completed'),
    other: await findAttempt('other'),
    failed: await findAttempt('failed'),
    released,
  };
}

type Rule = keyof typeof RULES;

/** What happened to the database, and which rules are then broken. */
interface Corruption {
  title: string;
  corrupt: (seed: Seed) => Promise<unknown>;
  rules: Rule[];
}

const PRODUCT = 'product-0';

const getBytes = (chunk: DocumentSnapshot): Buffer => chunk.get('data') as Buffer;

const CORRUPTIONS: Corruption[] = [
  {
    title: 'an entry is missing',
    corrupt: ({ completed }) => completed.priceList.collection('products').doc(PRODUCT).delete(),
    rules: ['entry_count', 'entry_values'],
  },
  {
    title: 'an entry has another price',
    corrupt: ({ completed }) =>
      completed.costList.collection('products').doc(PRODUCT).update({ expected_forward_cost_price: 17 }),
    rules: ['entry_values'],
  },
  {
    title: 'an entry has its price as text',
    corrupt: ({ completed }) =>
      completed.priceList.collection('products').doc(PRODUCT).update({ price_list_price: '0.25' }),
    rules: ['entry_values'],
  },
  {
    title: 'an entry has no price',
    corrupt: ({ completed }) => completed.priceList.collection('products').doc(PRODUCT).set({}),
    rules: ['entry_values'],
  },
  {
    title: 'there is an entry more',
    corrupt: ({ completed }) => completed.priceList.collection('products').doc('extra').set({ price_list_price: 1 }),
    rules: ['entry_count', 'entry_values'],
  },
  {
    title: 'one entry took the place of another',
    corrupt: async ({ completed }) => {
      await completed.priceList.collection('products').doc(PRODUCT).delete();
      await completed.priceList.collection('products').doc('extra').set({ price_list_price: 0.25 });
    },
    rules: ['entry_values', 'entry_values'],
  },
  {
    title: 'an entry of a failed attempt has another price',
    corrupt: ({ failed }) =>
      failed.costList.collection('products').doc(PRODUCT).set({ expected_forward_cost_price: 17 }),
    rules: ['entry_values'],
  },
  {
    title: 'a list of a failed attempt has an entry that is not in the payload',
    corrupt: ({ failed }) => failed.priceList.collection('products').doc('extra').set({ price_list_price: 1 }),
    rules: ['entry_values'],
  },
  {
    title: 'one list of a completed key is failed',
    corrupt: ({ completed }) => completed.costList.update({ status: 'failed' }),
    rules: ['list_status'],
  },
  {
    title: 'both lists of a completed key are processing',
    corrupt: async ({ completed }) => {
      await completed.costList.update({ status: 'processing' });
      await completed.priceList.update({ status: 'processing' });
    },
    rules: ['list_status', 'list_status'],
  },
  {
    title: 'one list of a failed attempt is ready alone',
    corrupt: ({ failed }) => failed.priceList.update({ status: 'ready' }),
    rules: ['list_status'],
  },
  {
    title: 'a list of an attempt in progress is ready',
    corrupt: async ({ failed }) => {
      await updateKey(failed.key, { status: 'processing', lease_expires_at: Date.now() + 60_000 });
      await failed.costList.update({ status: 'ready' });
      await failed.priceList.update({ status: 'processing' });
    },
    rules: ['list_status'],
  },
  {
    title: 'a list of a released attempt is ready',
    corrupt: ({ released }) => released.priceList.update({ status: 'ready' }),
    rules: ['list_status'],
  },
  {
    title: 'a list of a completed key is deleted',
    corrupt: ({ completed }) => completed.priceList.delete(),
    rules: ['list_document'],
  },
  {
    title: 'a list has another currency than the response',
    corrupt: ({ completed }) => completed.priceList.update({ currency: 'XXX' }),
    rules: ['list_document'],
  },
  {
    title: 'a list has another month',
    corrupt: ({ completed }) => completed.costList.update({ 'new_date.month': 7 }),
    rules: ['list_document'],
  },
  {
    title: 'a list was written after it was ready',
    corrupt: async ({ completed }) =>
      completed.costList.update({ updated_at: ((await completed.costList.get()).get('updated_at') as number) + 1 }),
    rules: ['list_document'],
  },
  {
    title: 'a list is ready that no key knows',
    corrupt: ({ completed }) =>
      completed.priceList.get().then((list) => service.db.doc('price_lists/unknown').set(list.data() ?? {})),
    rules: ['reference'],
  },
  {
    title: 'a key is deleted',
    corrupt: ({ completed }) => completed.key.delete(),
    rules: ['reference', 'reference', 'reference'],
  },
  {
    title: 'a key refers to the list of another key',
    corrupt: ({ completed, other }) => completed.key.update({ 'creation.price_list_id': other.priceList.id }),
    // Its own list has no key.
    rules: ['list_document', 'reference', 'request', 'response'],
  },
  {
    title: 'a key cannot be read',
    corrupt: ({ completed }) => completed.key.update({ schema_version: 2 }),
    rules: ['key_readable'],
  },
  {
    title: 'a key is stored under the hash of another',
    corrupt: async ({ completed }) => {
      const record = (await completed.key.get()).data() ?? {};
      await service.db.collection('price_list_idempotency').doc(keyDocumentId('elsewhere')).set(record);
      await completed.key.delete();
    },
    rules: ['key_id'],
  },
  {
    title: 'the count of a key is one more',
    corrupt: ({ completed }) => completed.key.update({ products_count: PRODUCTS + 1 }),
    rules: ['entry_count', 'entry_count', 'payload', 'request', 'response'],
  },
  {
    title: 'the count of a request record is one less',
    corrupt: ({ completed }) => completed.request.update({ products_count: PRODUCTS - 1 }),
    rules: ['request'],
  },
  {
    title: 'the fingerprint of a key changed',
    corrupt: ({ completed }) => completed.key.update({ fingerprint: '0'.repeat(64) }),
    rules: ['payload', 'request'],
  },
  {
    title: 'the fingerprint of a request record changed',
    corrupt: ({ completed }) => completed.request.update({ fingerprint: '0'.repeat(64) }),
    rules: ['request'],
  },
  {
    title: 'a request record names another price list',
    corrupt: ({ completed }) => completed.request.update({ 'info.boq_list_id': 'other' }),
    rules: ['request'],
  },
  {
    title: 'a request record is deleted',
    corrupt: ({ completed }) => completed.request.delete(),
    rules: ['request'],
  },
  {
    title: 'a request record is left of nothing',
    corrupt: () => service.db.doc('price_list_requests/unknown').set({ info: { boq_list_id: 'unknown' } }),
    rules: ['reference'],
  },
  {
    title: 'a chunk of the payload is lost',
    corrupt: ({ completed }) => completed.chunk.delete(),
    rules: ['payload'],
  },
  {
    title: 'a chunk of the payload of a failed attempt is lost',
    corrupt: ({ failed }) => failed.chunk.delete(),
    rules: ['payload'],
  },
  {
    title: 'a byte of the payload is damaged',
    corrupt: async ({ completed }) => {
      const bytes = Buffer.from(getBytes(await completed.chunk.get()));
      bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20);
      await completed.chunk.update({ data: bytes });
    },
    rules: ['payload'],
  },
  {
    title: 'the payload is that of another key',
    corrupt: async ({ completed, other }) => completed.chunk.update({ data: getBytes(await other.chunk.get()) }),
    rules: ['payload'],
  },
  {
    title: 'there is a chunk more',
    corrupt: ({ completed }) =>
      completed.request
        .collection('payload')
        .doc('0001')
        .set({ data: Buffer.from('x') }),
    rules: ['payload'],
  },
  {
    title: 'a completed key has no response',
    corrupt: ({ completed }) => completed.key.update({ response: null }),
    rules: ['response'],
  },
  {
    title: 'the response shows another list',
    corrupt: async ({ completed }) => {
      const response = String((await completed.key.get()).get('response'));
      await completed.key.update({ response: response.replace(completed.priceList.id, 'unknown') });
    },
    rules: ['response'],
  },
  {
    title: 'a failed key has a response',
    corrupt: ({ failed }) => failed.key.update({ response: '{}' }),
    rules: ['response'],
  },
  {
    title: 'a key that no sweep has to look at has a time for it',
    corrupt: ({ completed }) => completed.key.update({ sweep_due_at: Date.now() }),
    rules: ['sweep_due_at'],
  },
  {
    title: 'an attempt is processing, and its lease expired long ago',
    corrupt: async ({ failed }) => {
      await updateKey(failed.key, { status: 'processing', lease_expires_at: Date.now() - 600_000 });
      await failed.costList.update({ status: 'processing' });
      await failed.priceList.update({ status: 'processing' });
    },
    rules: ['lease'],
  },
];

interface AuditLine {
  event: string;
  rule?: Rule;
  command?: string;
  violations?: number;
}

async function audit(...args: string[]): Promise<{ code: number | null; lines: AuditLine[] }> {
  const { code, out } = await runCommand('audit', '--json', ...args);
  const lines = out.split('\n').filter((line) => line !== '');
  return { code, lines: lines.map((line) => JSON.parse(line) as AuditLine) };
}

test('a database in every state has no violation', async () => {
  await seed();
  const { code, lines } = await audit('--full');
  expect([code, lines]).toEqual([
    0,
    [expect.objectContaining({ event: 'audit_completed', keys: 5, attempts: 6, violations: 0 })],
  ]);
});

test.each(CORRUPTIONS)('$title: $rules', async ({ corrupt, rules }) => {
  await corrupt(await seed());
  const { code, lines } = await audit('--full');
  expect(code).toBe(1);
  const found = lines.flatMap(({ rule }) => rule ?? []);
  expect(found.sort()).toEqual(rules);
});

test('every rule is broken by one of the corruptions', () => {
  expect([...new Set(CORRUPTIONS.flatMap(({ rules }) => rules))].sort()).toEqual(Object.keys(RULES).sort());
});

test('by counts it reads ten documents for each key, and more for a sample, and writes nothing', async () => {
  for (const key of ['a', 'b', 'c']) await submit(key);
  const calls = service.recordCalls();
  const readBy = async (...args: string[]) => (await audit(...args)).lines[0];
  expect(await readBy('--sample', '0')).toMatchObject({ keys: 3, document_reads: getAuditReads(3, 0) });
  expect(await readBy('--sample', '2')).toMatchObject({ keys: 3, document_reads: getAuditReads(3, 2) });
  expect(await readBy('--full')).toMatchObject({ keys: 3, document_reads: getAuditReads(3, PRODUCTS) });
  expect(calls.map(({ rpc }) => rpc)).not.toContain('Commit');
});

test('beside creations, failures and sweeps it reports nothing', async () => {
  const over = new AbortController();
  const work = async (name: string) => {
    // Some of them meet the faults of the others, and fail.
    for (let i = 0; i < 15; i += 1) await service.call('addPriceLists', { json: createBody(`${name}-${i}`) });
  };
  const fail = async () => {
    for (let i = 0; i < 5; i += 1) {
      await failAttempt(`failed-${i}`);
      expect((await runCommand('resume', `failed-${i}`, '--yes')).code).toBe(0);
    }
  };
  const working = Promise.all([work('a'), work('b'), work('c'), fail()]).finally(() => over.abort());
  const found: AuditLine[] = [];
  let audits = 0;
  for (; !over.signal.aborted; audits += 1) found.push(...(await audit('--full')).lines);
  await working;
  expect((await service.db.collection('price_list_idempotency').get()).size).toBe(3 * 15 + 5);
  expect(found.filter(({ event }) => event === 'audit_violation')).toEqual([]);
  expect(found).toHaveLength(audits);
});
