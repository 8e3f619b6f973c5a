import { measureRecovery } from './recovery';

/** `npm run recovery` measures the same with the real lease and 100,000 products. */
test('a creation whose process is killed is ready soon after its lease, by the scheduled sweep beside it', async () => {
  const leaseMs = 6_000;
  // As many commits as 20,000 products take.
  const size = { products: 4_000, batch: 100 };
  const options = {
    ...size,
    runs: 2,
    concurrency: 2,
    sweepIntervalMs: 2_000,
    pollMs: 500,
    leaseMs,
    random: Math.random,
  };
  const runs = await measureRecovery(options);
  expect(runs).toHaveLength(2);
  // A lease, a look and a resume, with room for a busy machine.
  for (const { recoveryMs } of runs) expect(recoveryMs).toBeLessThan(leaseMs + 60_000);
}, 300_000);
