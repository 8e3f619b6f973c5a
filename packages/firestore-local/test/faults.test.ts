import { startFirestoreTestServer } from './support';

/* The suites of the service inject all other faults, and fail if one has no effect. */

test('a delay makes a call wait', async () => {
  const bench = await startFirestoreTestServer();
  bench.server.faults.inject({ rpc: 'Commit', action: { kind: 'delay', ms: 150 } });
  const start = performance.now();
  await bench.client().doc('a/1').set({});
  expect(performance.now() - start).toBeGreaterThan(140);
  await bench.close();
});
