import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { describeDifference, type Difference } from './compare-answers';
import { sequence } from './generator';
import { compareLive, forEachConcurrently, startEmbedded } from './live';
import { connect, type Transport } from './protocol';
import type { Operation } from './sequence';

/*
 * Compares the embedded Firestore with Google's emulator, on new random sequences, and shrinks what differs:
 * npm run firestore -- compare --google 127.0.0.1:8585 --sequences 1000 [--seed 7] [--shrink 5]
 */

const WIDTH = 8;
const BATCH = 500;

const { values } = parseArgs({
  options: {
    google: { type: 'string', default: '127.0.0.1:8585' },
    sequences: { type: 'string', default: '1000' },
    // How many kinds of differences are shrunk; of the others, the first that was found is shown.
    shrink: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});

/** Differences of one kind: the operation and the two statuses. */
const getKind = ({ operation, google, ours }: Difference): string =>
  `${operation.rpc} ${google.code}/${ours.code} ${(google.message ?? '').replaceAll(/\d+|["'].*?["']/g, '#').slice(0, 45)}`;

interface Finding {
  readonly seed: number;
  readonly index: number;
  count: number;
  readonly difference: Difference;
}

const isUnlisted = ({ deviation }: Difference): boolean => deviation === undefined;

async function main(): Promise<void> {
  const total = Number(values.sequences);
  const firstSeed = Number(values.seed);
  const server = await startEmbedded();
  const [google, embedded] = [connect(values.google), connect(server.address)];
  const findings = new Map<string, Finding>();
  const listed = new Map<string, number>();
  let operations = 0;
  for (let done = 0; done < total; done += BATCH) {
    const seed = firstSeed + done / BATCH;
    const sequences = fc.sample(sequence, { seed, numRuns: Math.min(BATCH, total - done) });
    await forEachConcurrently(sequences, WIDTH, async (each, index) => {
      const differences = await compareLive(google, embedded, each);
      operations += each.length;
      for (const { deviation } of differences) {
        if (deviation) listed.set(deviation.id, (listed.get(deviation.id) ?? 0) + 1);
      }
      const difference = differences.find(isUnlisted);
      if (!difference) return;
      const finding = findings.get(getKind(difference)) ?? { seed, index, count: 0, difference };
      finding.count++;
      findings.set(getKind(difference), finding);
    });
    server.clear();
    console.log(`${done + sequences.length} sequences, ${operations} calls, ${findings.size} kinds unlisted`);
  }
  const sorted = [...findings].sort(([, a], [, b]) => b.count - a.count);
  for (const [i, [kind, finding]] of sorted.entries()) {
    console.log(`\n${finding.count} × ${kind} (seed ${finding.seed}, sequence ${finding.index})`);
    const shrunk = i < Number(values.shrink) ? await shrink(google, embedded, kind, finding) : undefined;
    console.log(shrunk ?? describeDifference(finding.difference));
  }
  for (const [id, count] of listed) console.log(`listed: ${id} ${count} ×`);
  console.log(`${total} sequences from seed ${firstSeed}: ${findings.size} kinds of unlisted differences`);
  await Promise.all([google.close(), embedded.close()]);
  await server.close();
  process.exitCode = findings.size > 0 ? 1 : 0;
}

/** The smallest sequence that differs in the same kind. */
async function shrink(
  google: Transport,
  embedded: Transport,
  kind: string,
  { seed, index }: Finding,
): Promise<string | undefined> {
  let smallest: { operations: readonly Operation[]; difference: Difference } | undefined;
  const property = fc.asyncProperty(sequence, async (operations) => {
    const differences = await compareLive(google, embedded, operations);
    const difference = differences.find((each) => isUnlisted(each) && getKind(each) === kind);
    if (difference) smallest = { operations, difference };
    return difference === undefined;
  });
  await fc.check(property, { seed, path: String(index), interruptAfterTimeLimit: 20_000 });
  if (!smallest) return undefined;
  const before = smallest.operations.slice(0, smallest.difference.index).map((each) => `  ${JSON.stringify(each)}`);
  return [...before, describeDifference(smallest.difference)].join('\n');
}

void main();
