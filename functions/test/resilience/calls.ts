import type { Call, EmbeddedFirestore, InjectedFault, Rpc } from '../../../packages/firestore-local/src';
import { systemClock } from '../../src/lib/clock';
import * as commitSizes from '../../src/price-lists/commit-sizes';
import { keyDocumentId } from '../../src/lib/repositories/price-lists';
import { createPriceListBody, type PriceListBody } from '../support/submissions';
import type { CommitSizes } from './bundle';

/** The calls to Firestore that one clean creation with two batches a list makes, in the order in which they can come. */
export const CREATION_CALLS = [
  'read the key and the market',
  'claim',
  'cost entries, batch 1',
  'cost entries, batch 2',
  'price entries, batch 1',
  'price entries, batch 2',
  'read the key',
  'complete',
] as const;

export type CallName = (typeof CREATION_CALLS)[number];

/** The operation by which a call goes. */
export const getRpc = (name: CallName): Rpc => (name.startsWith('read') ? 'BatchGetDocuments' : 'Commit');

/**
 * Entries that a commit holds in these tests: what is tested is the order of the calls, and what
 * they leave. That a batch has 500 entries is a test of the operation.
 */
export const TEST_BATCH = 5;

/** Has the service in this process make commits of other sizes. */
export function replaceSizes(sizes: CommitSizes): void {
  for (const [name, size] of Object.entries(sizes))
    jest.replaceProperty<Record<string, number>, string>(commitSizes, name, size);
}

/** Has a creation in this process write batches of {@link TEST_BATCH}. */
export const useTestBatches = (): void => replaceSizes({ MAX_ENTRIES_PER_COMMIT: TEST_BATCH });

/** One product more than a batch holds. */
const PRODUCTS = TEST_BATCH + 1;

/** A body of two batches a list, whose key and products are not those of any other label, also where one label begins with another. */
export function createLabelledBody(
  label: string,
  info: Partial<PriceListBody['info']> = {},
  count = PRODUCTS,
): PriceListBody {
  const { info: rest, products } = createPriceListBody(count, { boq_list_id: label, ...info });
  const labelled = Object.values(products).map((prices, i) => [`${label}.${String(i).padStart(4, '0')}`, prices]);
  return { info: rest, products: Object.fromEntries(labelled) as PriceListBody['products'] };
}

/** The documents that a call reads or writes. */
function documentsOf({ request }: Call): readonly string[] {
  if ('documents' in request) return request.documents;
  return 'writes' in request ? request.writes.map(({ name }) => name) : [];
}

/** The name of a call that the creation of {@link createLabelledBody} makes; undefined for a call that is not of this label. */
export function identifyCall(label: string, call: Call): CallName | undefined {
  const names = documentsOf(call);
  const has = (part: string) => names.some((name) => name.includes(part));
  if (has(`/price_list_idempotency/${keyDocumentId(label)}`)) {
    if (call.rpc === 'Commit') return has('/price_list_requests/') ? 'claim' : 'complete';
    return has('/markets/') ? 'read the key and the market' : 'read the key';
  }
  if (!has(`/products/${label}.`)) return undefined;
  const batch = names.length > 1 ? 1 : 2;
  return `${has('/price_lists/') ? 'price' : 'cost'} entries, batch ${batch}`;
}

export type Match = (call: Call) => boolean;

/** Matches for a time of the service, from the first match on. */
export function lasting(forMs: number, match: Match): Match {
  let endsAt: number | undefined;
  return (call) => match(call) && systemClock.now() < (endsAt ??= systemClock.now() + forMs);
}

/** A moment of a creation: before or after a call takes effect. */
export interface Moment {
  label: string;
  name: CallName;
  when: 'before' | 'after';
}

/** Holds a creation at a moment until its process has died: a call of a process that is gone goes no further than it has come. */
export function holdUntilDeath(
  { faults }: Pick<EmbeddedFirestore, 'faults'>,
  { label, name, when }: Moment,
  died: Promise<unknown>,
): InjectedFault {
  let isHeld = false;
  const rpc = getRpc(name);
  const match = (call: Call) => identifyCall(label, call) === name;
  const hold = async () => {
    isHeld = true;
    await died;
  };
  const held = faults.inject({ rpc, match, when, action: { kind: 'call', run: hold } });
  if (when === 'before') faults.inject({ rpc, match, action: { kind: 'drop' } });
  // Nor does the list beside it.
  const isLater = (call: Call) => {
    const called = identifyCall(label, call);
    return isHeld && called !== undefined && called !== name;
  };
  for (const each of ['BatchGetDocuments', 'Commit'] as const)
    faults.inject({ rpc: each, match: isLater, times: Infinity, action: { kind: 'hang' } });
  return held;
}
