import { execFileSync } from 'node:child_process';

/** @returns the newest tag `v…` of this branch, or undefined before the first release */
export function findLastRelease(): string | undefined {
  try {
    return execFileSync('git', ['describe', '--tags', '--abbrev=0', '--match', 'v*'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}
