import { write } from 'firebase-functions/logger';
import { logSweepResult } from '../../../../src/lib/logging/price-lists';
import { logSweepFailed } from '../../../../src/lib/logging/price-lists';
import { createKeyRecord } from '../../../support/key-records';

/** Firestore's messages can name a document, and so a product. */

jest.mock('firebase-functions/logger');

const REASON = 'no entity: projects/p/databases/(default)/documents/price_lists/1/products/planted-secret';
const COUNTS = { resumed: 0, deferred: 0, left: 0, unreadable: 0 };

test.each([
  ['price_list_deferred', () => logSweepResult({ time: 1, result: 'deferred', reason: REASON }, createKeyRecord())],
  ['sweep_failed', () => logSweepFailed(REASON, COUNTS)],
])('the reason of %s names no document', (event, log) => {
  log();
  const reason = 'no entity: projects/p/databases/(default)/documents/…';
  expect(write).toHaveBeenLastCalledWith(expect.objectContaining({ event, reason }));
});
