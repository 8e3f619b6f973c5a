import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findLastRelease } from '../../../scripts/last-release';
import { runProgram } from '../../../test/support/programs';
import { checkHandover, type Version } from './rollout';

/*
 * npm run rollout:check [-- --with REVISION]
 *
 * Has this code and that of the last release, by default the newest tag `v…`, take over each other's attempts.
 */

const TODAY: Version = { name: 'this code', folder: process.cwd() };

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { with: { type: 'string' } } });
  const revision = values.with ?? findLastRelease();
  if (revision === undefined) {
    console.log('Rollout: there is no release yet, so nothing to take over from.');
    return;
  }
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

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
