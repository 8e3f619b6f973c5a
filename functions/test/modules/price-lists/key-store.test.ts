import type { Database } from '../../../src/lib/firestore/database';
import { createRequestContext } from '../../../src/lib/request-context';
import type { KeyReference, KeySnapshot } from '../../../src/lib/repositories/price-lists';
import { KeyStore } from '../../../src/price-lists/key-store';
import { createKeyRecord } from '../../support/key-records';

test('a lease that expires while its key is read still counts as held', async () => {
  const record = createKeyRecord();
  let now = record.lease_expires_at - 1;
  const context = createRequestContext(new AbortController().signal);
  const clock = { ...context.clock, now: () => now };
  const keys = new KeyStore({} as KeyReference, {} as Database, { ...context, clock });
  jest.spyOn(keys, 'read').mockImplementation(() => {
    now = record.lease_expires_at;
    return Promise.resolve({ record } as KeySnapshot);
  });
  expect(await keys.apply({ kind: 'look', caller: null })).toMatchObject({ kind: 'blocked', by: 'attempt' });
});
