import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startProgram } from '../../../test/support/programs';
import { bundleProgram, getBundleVariables } from '../resilience/bundle';

/** So few that a handful of products takes several chunks, some beyond the claim, and several batches. */
const COMMIT_SIZES = { MAX_ENTRIES_PER_COMMIT: 3, MAX_CHUNK_BYTES: 90, MAX_CLAIM_CHUNKS: 2 };

/** Each call to the Firestore SDK takes a stack trace, which nobody reads. */
const NODE_OPTIONS = ['--stack-trace-limit=1'];

/**
 * Runs simulate.ts with these arguments, bundled with the service, in a process of its own.
 *
 * @param print called with each line
 * @returns what it printed, and its exit code
 */
export async function runSimulation(
  args: readonly string[],
  print: (line: string) => void = () => undefined,
): Promise<{ code: number | null; text: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'simulation-'));
  const program = join(folder, 'simulation.cjs');
  try {
    await bundleProgram('functions/test/simulation/simulate.ts', program, COMMIT_SIZES);
    const env = getBundleVariables();
    const child = startProgram(process.execPath, [...NODE_OPTIONS, program, ...args], { env });
    child.stderr.pipe(process.stderr);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      print(line);
    }
    return { code: await ended, text: lines.join('\n') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
