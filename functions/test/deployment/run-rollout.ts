import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../../../test/support/programs';
import { checkHandover, type Version } from './rollout';

/*
 * node --import tsx functions/test/deployment/run-rollout.ts REVISION
 *
 * Has this code and that of a release take over each other's attempts.
 */

const TODAY: Version = { name: 'this code', folder: process.cwd() };

async function main(revision: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rollout-'));
  const release: Version = { name: revision, folder: join(folder, 'release') };
  console.log(`Checking out and building ${revision}`);
  await runProgram('git', ['worktree', 'add', '--detach', release.folder, revision]);
  try {
    await runProgram('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: release.folder });
    await runProgram('npm', ['run', 'build'], { cwd: release.folder });
    await checkHandover(release, TODAY, console.log);
    await checkHandover(TODAY, release, console.log);
  } finally {
    await runProgram('git', ['worktree', 'remove', '--force', release.folder]);
    rmSync(folder, { recursive: true });
  }
  console.log(`${revision} and this code take over each other's attempts, forward and back.`);
}

main(process.argv[2] ?? '').catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
