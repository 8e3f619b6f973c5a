import type { Call, EmbeddedFirestore, InjectedFault } from '../../../packages/firestore-local/src';
import { keyDocumentId } from '../../src/lib/schemas/key-record';
import { WRITE_SIZES } from '../../src/lib/work-context';
import { createPriceListBody, type PriceListBody } from '../support/submissions';

/** The calls to Firestore of one creation without faults, with two batches for each list. */
export type CallName =
  'read the key and the market' | 'claim' | `${'cost' | 'price'} entries, batch ${1 | 2}` | 'read the key' | 'complete';

/**
 * Maximum number of entries in a batch of module tests. Small batches suffice, because these tests check the order of
 * calls and what is stored. A test of the operation checks that a batch has 500.
 */
export const TEST_BATCH = 5;

/** Makes the operations in this process write batches of at most {@link TEST_BATCH} entries. */
export const useTestBatches = (): void => void jest.replaceProperty(WRITE_SIZES, 'batchEntries', TEST_BATCH);

const PRODUCTS = TEST_BATCH + 1;

/** Creates a body, by default of {@link TEST_BATCH} + 1 products. Each label has a key and products of its own. */
export function createLabelledBody(
  label: string,
  info: Partial<PriceListBody['info']> = {},
  count = PRODUCTS,
): PriceListBody {
  const { info: rest, products } = createPriceListBody(count, { boq_list_id: label, ...info });
  const labelled = Object.values(products).map((prices, i) => [`${label}.${String(i).padStart(4, '0')}`, prices]);
  return { info: rest, products: Object.fromEntries(labelled) as PriceListBody['products'] };
}

function documentsOf({ request }: Call): readonly string[] {
  if ('documents' in request) return request.documents;
  return 'writes' in request ? request.writes.map(({ name }) => name) : [];
}

/** Returns which call of the label's creation this is, or undefined if another creation makes it. */
function identifyCall(label: string, call: Call): CallName | undefined {
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

/** A moment in a creation, before or after a call takes effect. */
export interface Moment {
  label: string;
  name: CallName;
  when: 'before' | 'after';
}

/** Holds a creation at a commit until its process has died. None of its later calls takes effect. */
export function holdUntilDeath(
  { faults }: Pick<EmbeddedFirestore, 'faults'>,
  { label, name, when }: Moment,
  died: Promise<unknown>,
): InjectedFault {
  let isHeld = false;
  const rpc = 'Commit';
  const match = (call: Call) => identifyCall(label, call) === name;
  const hold = async () => {
    isHeld = true;
    await died;
  };
  const held = faults.inject({ rpc, match, when, action: { kind: 'call', run: hold } });
  if (when === 'before') faults.inject({ rpc, match, action: { kind: 'drop' } });
  // The calls of the other list must not take effect either.
  const isLater = (call: Call) => {
    const called = identifyCall(label, call);
    return isHeld && called !== undefined && called !== name;
  };
  for (const each of ['BatchGetDocuments', 'Commit'] as const)
    faults.inject({ rpc: each, match: isLater, times: Infinity, action: { kind: 'hang' } });
  return held;
}
