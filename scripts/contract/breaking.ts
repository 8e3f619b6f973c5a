import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/*
 * node --import tsx scripts/contract/breaking.ts REVISION
 *
 * Compares docs/openapi.json with that of a release, and fails on a breaking change.
 */

const DESCRIPTION = 'docs/openapi.json';

const readDescription = (revision: string): string =>
  execFileSync('git', ['show', `${revision}:${DESCRIPTION}`], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
  });

function main(base: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'breaking-'));
  try {
    const released = join(folder, `${base.replaceAll('/', '-')}.json`);
    writeFileSync(released, readDescription(base));
    // Redocly would otherwise ask the registry for a newer version of itself, and report its use.
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const command = ['node_modules/@redocly/cli/bin/cli.js', 'diff', released, DESCRIPTION];
    process.exitCode = spawnSync(process.execPath, command, { stdio: 'inherit', env }).status ?? 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

try {
  main(process.argv[2] ?? '');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
