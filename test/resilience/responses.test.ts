import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { getTeams } from '../../functions/src/get-teams';
import { TEST_API_KEY, useTestService } from '../harness/service';
import { waitFor } from '../harness/wait-for';

const service = useTestService({ getTeams });

const NAME = 'é'.repeat(450_000);

/** Stores teams that take 900 kB each in the response. */
async function storeLargeTeams(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await service.db.doc(`teams/team-${i}`).set({ name: NAME });
}

test('a client that leaves before the whole response was sent is logged with 499', async () => {
  await storeLargeTeams(20);
  const calls = service.recordCalls();
  const headers = { 'x-api-key': TEST_API_KEY };
  const opened = request({ host: '127.0.0.1', port: service.port('getTeams'), headers, agent: false }).end();
  const [incoming] = (await once(opened, 'response')) as [IncomingMessage];
  incoming.on('error', () => undefined);
  // Once the query has ended, the bytes that the operating system cannot buffer wait for the client.
  await waitFor(() => calls.length > 0);
  incoming.destroy();
  await waitFor(() => service.log.length > 0);
  expect(service.log).toMatchObject([{ severity: 'NOTICE', status: 499, client_gone: true }]);
});

test('a query that fails after the first byte of the response was sent breaks the connection', async () => {
  await storeLargeTeams(36);
  service.firestore.faults.inject({
    rpc: 'RunQuery',
    when: { messages: 35 },
    action: { kind: 'error', code: 'PERMISSION_DENIED' },
  });
  await expect(service.call('getTeams')).rejects.toThrow(/aborted|socket hang up|ECONNRESET/);
  await waitFor(() => service.log.length > 0);
  expect(service.log).toMatchObject([{ event: 'request', status: 500, error_code: 'internal_error' }]);
});
