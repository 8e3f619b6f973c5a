import { write } from 'firebase-functions/logger';
import { logInstanceStopped } from '../../../../src/lib/logging/instances';
import { createPriceListLogger } from '../../../../src/lib/logging/price-lists';
import { logSweepFailed } from '../../../../src/lib/logging/sweep';
import { logUnreadableKey } from '../../../../src/lib/logging/sweep';
import { logSweepResult } from '../../../../src/lib/logging/sweep';
import { createKeyRecord } from '../../../../../test/harness/key-records';

/** Tests the severities and fields of some log lines of attempts, sweeps and instances. */

jest.mock('firebase-functions/logger');

const log = createPriceListLogger('request-1');
const record = createKeyRecord({ claimed_at: 5, trace_id: 'trace-1' });
const IDS = { request_id: 'request-1', document_id: 'document', price_list_id: null, products_count: 1 };
const SWEPT = { document_id: 'document', trace_id: 'trace-1', since_claim_ms: 10 };
const COUNTS = { resumed: 0, deferred: 0, left: 0, unreadable: 0 };
const REASON = 'the time is up';

test.each<[severity: string, event: string, fields: object, log: () => void]>([
  [
    'ERROR',
    'price_list_failed',
    { ...IDS, reason: REASON, needs_operator: true },
    () => log.failed(record, REASON, true),
  ],
  ['ERROR', 'price_list_failed', { ...IDS, reason: REASON }, () => log.failed(record, REASON, false)],
  ['WARNING', 'price_list_superseded', { ...IDS, key_outcome: 'lost' }, () => log.superseded(record, 'lost')],
  ['NOTICE', 'price_list_deferred', { ...SWEPT, reason: REASON }, () => logSwept('deferred')],
  ['ERROR', 'price_list_left', { ...SWEPT, reason: REASON }, () => logSwept('left')],
  ['ERROR', 'key_record_unreadable', { record: 'keys/1' }, () => logUnreadableKey('keys/1')],
  ['ERROR', 'sweep_failed', { reason: REASON, ...COUNTS }, () => logSweepFailed(REASON, COUNTS)],
  [
    'WARNING',
    'instance_stopped',
    { exit_code: 0, unanswered: 1 },
    () => logInstanceStopped({ exit_code: 0, unanswered: 1 }),
  ],
  [
    'INFO',
    'instance_stopped',
    { exit_code: 0, unanswered: 0 },
    () => logInstanceStopped({ exit_code: 0, unanswered: 0 }),
  ],
  [
    'ERROR',
    'instance_stopped',
    { exit_code: 16, unanswered: 0 },
    () => logInstanceStopped({ exit_code: 16, unanswered: 0 }),
  ],
])('%s %s has the fields %j', (severity, event, fields, logLine) => {
  logLine();
  expect(write).toHaveBeenLastCalledWith({ severity, event, message: event.replaceAll('_', ' '), ...fields });
});

function logSwept(result: 'deferred' | 'left'): void {
  logSweepResult({ time: 15, result, reason: REASON }, record);
}
