import { parseArgs } from 'node:util';
import { findLastRelease } from '../last-release';
import { runTool } from './run-tool';

/*
 * npm run contract:breaking [-- --base REVISION]
 *
 * Compares docs/openapi.json with that of the last release, by default the newest tag `v…`, and fails on a breaking change.
 */

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { base: { type: 'string' } } });
  const base = values.base ?? findLastRelease('npm run contract:breaking -- --base REVISION');
  await runTool({ program: 'oasdiff', installation: 'go install github.com/oasdiff/oasdiff@v1.35.0' }, [
    ...['breaking', '--fail-on', 'ERR', '--flatten-allof'],
    ...[`${base}:docs/openapi.json`, 'docs/openapi.json'],
  ]);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
