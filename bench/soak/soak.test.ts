import { soak } from './soak';

/** A short soak, with all that the long one has (`npm run soak`): nothing that must not be, whatever Firestore does meanwhile. */
test('mixed traffic over 64 connections, a Firestore that hangs and one that dies: nothing lost, nothing twice', async () => {
  const seed = 1 + Math.floor(Math.random() * 1e9);
  const options = { seconds: 12, connections: 64, outageSeconds: 1.5, seed };
  const { answers, outages, keys, violations, memory } = await soak(options, () => undefined);
  expect([seed, violations]).toEqual([seed, []]);
  expect(outages.map(({ kind }) => kind)).toEqual(['hangs', 'is dead']);
  for (const kind of ['read', 'create', 'replay', 'conflict', 'refused']) {
    expect(answers.filter((answer) => answer.kind === kind).length).toBeGreaterThan(0);
  }
  expect(keys.completed).toBeGreaterThan(0);
  expect(memory.length).toBeGreaterThan(5);
  // The service goes on after the second outage: reads are answered again.
  const last = outages.at(-1)?.to ?? Infinity;
  expect(answers.some(({ kind, status, at, ms }) => kind === 'read' && status === 200 && at + ms > last)).toBe(true);
}, 180_000);
