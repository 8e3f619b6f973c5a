import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { runTool } from './run-tool';

/*
 * npm run contract:breaking [-- --base REVISION]
 *
 * Compares docs/openapi.json with that of the last release, by default the newest tag `v…`, and fails on a breaking change.
 */

function findLastRelease(): string {
  try {
    return execFileSync('git', ['describe', '--tags', '--abbrev=0', '--match', 'v*'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    throw new Error(
      'No release has a tag here. Name what to compare with: npm run contract:breaking -- --base REVISION',
    );
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { base: { type: 'string' } } });
  const base = values.base ?? findLastRelease();
  await runTool({ program: 'oasdiff', installation: 'go install github.com/oasdiff/oasdiff@v1.35.0' }, [
    ...['breaking', '--fail-on', 'ERR', '--flatten-allof'],
    ...[`${base}:docs/openapi.json`, 'docs/openapi.json'],
  ]);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
