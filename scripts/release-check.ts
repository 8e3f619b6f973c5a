import { execFileSync, spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

/*
 * npm run release:check [-- TAG] [--with REVISION]
 *
 * What a release must pass besides .ci/run: versions that agree, also with the tag if one is given; an API description that breaks no
 * client of the last release; and this code and the last release taking over each other's attempts, which takes six minutes.
 * The last release is the newest tag `v…` before, or the revision that is named.
 */

const { values, positionals } = parseArgs({ options: { with: { type: 'string' } }, allowPositionals: true });
const [tag] = positionals;

function main(): void {
  run('scripts/versions.ts', ...positionals);
  const last = values.with ?? findLastRelease();
  if (last === undefined) {
    console.log('The versions agree. There is no release yet to compare with.');
    return;
  }
  run('scripts/contract/breaking.ts', last);
  run('functions/test/deployment/run-rollout.ts', last);
}

/** Runs a program. All run, whichever fails. */
function run(program: string, ...args: string[]): void {
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', program, ...args], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

/** @returns the newest tag `v…` of this branch other than the one that is checked, or undefined before the first release */
function findLastRelease(): string | undefined {
  const options = ['--tags', '--abbrev=0', '--match', 'v*', '--exclude', tag ?? ''];
  try {
    return execFileSync('git', ['describe', ...options], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

main();
