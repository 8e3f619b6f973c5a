import { soak } from './soak';

/** A short soak, with all that the long one has (`npm run soak`). */
test('Firestore hangs and dies, the service is stopped in the middle of creations: nothing lost, nothing twice, no key left', async () => {
  const seed = 1 + Math.floor(Math.random() * 1e9);
  const options = {
    seconds: 14,
    connections: 8,
    outageSeconds: 1.5,
    seed,
    scheduleSeconds: 1,
    pauseSeconds: 0,
  };
  const report = await soak(options, () => undefined);
  const { responses, disturbances, sweep, audits, keys, violations, memory } = report;
  expect([seed, violations]).toEqual([seed, []]);
  expect(disturbances.map(({ kind }) => kind)).toEqual(['firestore_hangs', 'service_stopped', 'firestore_dead']);
  for (const kind of ['read', 'create', 'replay', 'conflict', 'rejected']) {
    expect(responses.filter((response) => response.kind === kind).length).toBeGreaterThan(0);
  }
  expect(keys.completed).toBeGreaterThan(0);
  expect(keys.left).toBe(0);
  expect(audits).toBeGreaterThan(0);
  expect(memory.length).toBeGreaterThan(5);
  // SIGTERM came in the middle of a creation at least, which the sweep resumed.
  expect(sweep['resumed']).toBeGreaterThan(0);
  // The service goes on after the last outage: reads and creations get 200 again.
  const last = disturbances.at(-1)?.to ?? Infinity;
  for (const kind of ['read', 'create']) {
    const later = responses.filter((each) => each.kind === kind && each.status === 200 && each.at > last);
    expect(later.length).toBeGreaterThan(0);
  }
}, 600_000);
