import { Client, type CallOptions, type Metadata } from '@grpc/grpc-js';
import { CHANNEL_OPTIONS, getConnection } from '../../../../src/lib/firestore/connection';
import { useFirestoreEmulator } from '../../../../../test/harness/firestore';

const PROJECT = 'demo-price-lists';
const DATABASE = `projects/${PROJECT}/databases/(default)`;

test('a connection that could not be opened is opened the next time, and its calls have a database, a route and a deadline', async () => {
  useFirestoreEmulator('127.0.0.1:1', PROJECT);
  const config = jest.replaceProperty(process, 'env', { ...process.env, GCLOUD_PROJECT: undefined });
  await expect(getConnection()).rejects.toThrow('Project Id');
  config.restore();

  const send = jest.spyOn(Client.prototype, 'makeServerStreamRequest').mockReturnThis();
  const { runQuery } = await getConnection();
  runQuery(Buffer.alloc(0));
  const [metadata, options] = send.mock.lastCall?.slice(4) as [Metadata, CallOptions];
  expect(metadata.getMap()).toEqual({
    'google-cloud-resource-prefix': DATABASE,
    'x-goog-request-params': `parent=${encodeURIComponent(`${DATABASE}/documents`)}`,
    authorization: 'Bearer owner',
  });
  const leftMs = Number(options.deadline) - Date.now();
  expect(leftMs).toBeGreaterThan(40_000);
  expect(leftMs).toBeLessThanOrEqual(45_000);
});

/** test/resilience/connections.test.ts shows that both channels have these options. */
test('the channels ping every 30 s, wait 10 s for the reply, and connect again after at most about 5 s', () => {
  expect(CHANNEL_OPTIONS).toEqual({
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
    'grpc.max_reconnect_backoff_ms': 5_000,
  });
});
