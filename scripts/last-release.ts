import { execFileSync } from 'node:child_process';

/** Returns the newest tag `v…`. @param instead the command that names a revision, for where there is none */
export function findLastRelease(instead: string): string {
  try {
    return execFileSync('git', ['describe', '--tags', '--abbrev=0', '--match', 'v*'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    throw new Error(`No release has a tag here. Name what to compare with: ${instead}`);
  }
}
