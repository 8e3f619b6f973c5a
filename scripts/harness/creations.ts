import type { Call, EmbeddedFirestore, InjectedFault } from '../../packages/firestore-local/src';
import { keyDocumentId } from '../../functions/src/lib/schemas/key-record';

/** The calls to Firestore of one creation without faults, with two batches for each list. */
export type CallName =
  'read the key and the market' | 'claim' | `${'cost' | 'price'} entries, batch ${1 | 2}` | 'read the key' | 'complete';

/** Creates a body of `count` products. Each label has a key and products of its own. */
export const createLabelledBody = (label: string, count: number) => ({
  info: { market_id: 'market-1', boq_list_id: label, currency_iso: 'usd', date: '06/2026', name: 'June' },
  products: Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `${label}.${String(i).padStart(4, '0')}`,
      { price_list_price: i + 0.25, expected_forward_cost_price: i },
    ]),
  ),
});

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
  const batch = has(`/products/${label}.0000`) ? 1 : 2;
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
