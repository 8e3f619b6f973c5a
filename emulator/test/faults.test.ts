import { startFirestoreTestServer } from './support';

/* Tests only a delay, because suites of the service inject faults of the other kinds, and would fail without their effects. */

test('a call waits for as long as an injected delay', async () => {
  const bench = await startFirestoreTestServer();
  bench.server.faults.inject({ rpc: 'Commit', action: { kind: 'delay', ms: 1_000 } });
  const start = performance.now();
  await bench.client().doc('a/1').set({});
  expect(performance.now() - start).toBeGreaterThan(990);
  await bench.close();
});
