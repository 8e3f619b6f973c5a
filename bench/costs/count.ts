import { readFileSync } from 'node:fs';
import { listOptions, rangeOptions, writeOptions } from '../../functions/src/lib/runtime-options';
import { Indexes, getFieldsSize, getNameSize, startFirestore } from '../../packages/firestore-local/src';
import type { IndexDefinitions, MapValue, PlainDocument } from '../../packages/firestore-local/src';
import type { BenchRequest } from '../client';
import { createOrdersBody, createPriceListPayload, createRecords, createSupplyOrdersBody, PROJECT_ID } from '../data';
import { requestOk } from '../measure';
import { operations, startFunction, type FunctionProcess, type Operation } from '../stack';
import type { CountedCall } from './model';

/** Counts what calls of the built service use, on an embedded Firestore that sees every document. */

interface Counter {
  documentReads: number;
  documentWrites: number;
  /** Every document written, with its fields. */
  documents: Map<string, MapValue>;
}

/** Bytes that Firestore adds to an index entry, and to a document. */
const OVERHEAD_BYTES = 32;

export async function countCalls(
  priceListSizes: readonly number[],
  orderSizes: readonly number[],
): Promise<CountedCall[]> {
  const indexes = JSON.parse(readFileSync('firestore.indexes.json', 'utf8')) as IndexDefinitions;
  const firestore = await startFirestore({ indexes });
  const counter: Counter = { documentReads: 0, documentWrites: 0, documents: new Map() };
  const functions = new Map<Operation, FunctionProcess>();
  const calls: CountedCall[] = [];
  try {
    await firestore.addIfEmpty(PROJECT_ID, [...createRecords(1_000, orderSizes), ...PLACES]);
    const pass = { kind: 'delay', ms: 0 } as const;
    firestore.faults.inject({
      rpc: 'Commit',
      match: ({ request }) => {
        for (const write of request.writes) {
          if (write.kind !== 'update') continue;
          counter.documentWrites += 1;
          const stored: MapValue | undefined = write.mask && counter.documents.get(write.name);
          counter.documents.set(write.name, new Map([...(stored ?? []), ...write.fields]));
        }
        return false;
      },
      action: pass,
    });
    firestore.faults.inject({
      rpc: 'BatchGetDocuments',
      match: ({ request }) => {
        counter.documentReads += request.documents.length;
        return false;
      },
      action: pass,
    });

    const count = async (label: string, operation: Operation, size: number, request: BenchRequest) => {
      let running = functions.get(operation);
      if (!running) functions.set(operation, (running = await startFunction('service', operation, firestore.address)));
      Object.assign(counter, { documentReads: 0, documentWrites: 0, documents: new Map() });
      const before = await running.cpuMs();
      const { bytes } = await requestOk(running.port, request);
      const cpuMs = (await running.cpuMs()) - before;
      const isWrite = operation === 'addPriceLists';
      calls.push({
        operation: label,
        size,
        // A query without results is billed as one read.
        documentReads: isWrite ? counter.documentReads : Math.max(1, size),
        documentWrites: counter.documentWrites,
        ...measureStorage(counter.documents, indexes),
        cpuMs,
        sequentialCommits: counter.documentWrites > 10 ? size / 500 : 0,
        bytesOut: bytes,
        memoryGiB: memoryOf(operation),
      });
    };

    const get: BenchRequest = { method: 'GET' };
    const post = (body: Buffer): BenchRequest => ({ method: 'POST', body });
    // The first request of a process compiles its code.
    for (const operation of operations.slice(0, 3)) await count('', operation, 0, get);
    await count('', 'getOrdersByTeam', 0, post(createOrdersBody(orderSizes[0] ?? 0)));
    await count('', 'supplyOrdersInvoices', 0, post(createSupplyOrdersBody()));
    await count('', 'addPriceLists', 10, post(createPriceListPayload(10)));
    calls.length = 0;

    await count('get markets', 'getMarkets', 50, get);
    await count('get warehouses', 'getWarehouses', 50, get);
    await count('get teams', 'getTeams', 1_000, get);
    for (const size of orderSizes)
      await count('get orders by team', 'getOrdersByTeam', size, post(createOrdersBody(size)));
    await count('supply orders invoices', 'supplyOrdersInvoices', 0, post(createSupplyOrdersBody()));
    for (const size of priceListSizes) {
      const body = createPriceListPayload(size);
      await count('add price lists', 'addPriceLists', size, post(body));
      if (size === priceListSizes[0]) await count('add price lists, replay', 'addPriceLists', size, post(body));
    }
  } finally {
    for (const { stop } of functions.values()) await stop();
    await firestore.close();
  }
  return calls;
}

function memoryOf(operation: Operation): number {
  switch (operation) {
    case 'getMarkets':
    case 'getTeams':
    case 'getWarehouses':
      return toGiB(listOptions.memory);
    case 'getOrdersByTeam':
    case 'supplyOrdersInvoices':
      return toGiB(rangeOptions.memory);
    case 'addPriceLists':
      return toGiB(writeOptions.memory);
  }
}

const toGiB = (memory: `${number}GiB` | `${number}MiB`): number =>
  memory.endsWith('GiB') ? Number.parseInt(memory) : Number.parseInt(memory) / 1024;

/** https://firebase.google.com/docs/firestore/storage-size; an index entry with the document's average field. */
export function measureStorage(documents: ReadonlyMap<string, MapValue>, definitions: IndexDefinitions) {
  const [declared, everything] = [new Indexes(definitions), new Indexes({ ...definitions, fieldOverrides: [] })];
  const storage = {
    storedBytes: 0,
    indexEntries: 0,
    indexBytes: 0,
    indexEntriesWithoutExemptions: 0,
    indexBytesWithoutExemptions: 0,
  };
  for (const [name, fields] of documents) {
    const path = name.split('/');
    const group = path.at(-2) ?? '';
    const parent = path.slice(0, -2).join('/');
    const fieldsSize = getFieldsSize(fields);
    const entryBytes = getNameSize(name) + getNameSize(parent) + OVERHEAD_BYTES + fieldsSize / Math.max(1, fields.size);
    const [entries, all] = [declared.countEntries(group, fields), everything.countEntries(group, fields)];
    storage.storedBytes += getNameSize(name) + fieldsSize + OVERHEAD_BYTES;
    storage.indexEntries += entries;
    storage.indexBytes += Math.round(entries * entryBytes);
    storage.indexEntriesWithoutExemptions += all;
    storage.indexBytesWithoutExemptions += Math.round(all * entryBytes);
  }
  return storage;
}

/** The warehouses, and in place of the bench's a market of the least fields. */
const PLACES: readonly PlainDocument[] = [
  ...Array.from({ length: 50 }, (_, i) => {
    return { collection: 'warehouses', id: `warehouse-${i}`, data: { name: 'Somewhere', country_iso: 'KEN' } };
  }),
  {
    collection: 'markets',
    id: 'market-0',
    data: { name: { en: 'Market' }, country_iso: 'EGY', currency_iso: 'EGP' },
  },
];
