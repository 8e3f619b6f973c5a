import { spawn } from 'node:child_process';
import { readArguments } from './program.mjs';

/**
 * `npm run check` builds, then runs all other checks at the same time. ESLint and Prettier cache their results, and check only
 * changed files. If a changed type breaks a lint rule in another file, only a run without the cache finds that, such as CI's.
 */
const CACHE = 'node_modules/.cache';

const CACHED = '--cache --cache-strategy content';

/** The folders in which dependency-cruiser checks the rules of .dependency-cruiser.cjs. */
const FOLDERS = 'functions/src functions/test command emulator dev deploy bench test';

const checks = {
  eslint: `node_modules/eslint/bin/eslint.js . ${CACHED} --cache-location ${CACHE}/eslint/`,
  tsc: `node_modules/typescript/bin/tsc --noEmit --incremental --tsBuildInfoFile ${CACHE}/tsc.json`,
  imports: `node_modules/dependency-cruiser/bin/dependency-cruise.mjs ${FOLDERS}`,
  generated: '--import tsx dev/generate/generate.mjs --check',
  prettier: `node_modules/prettier/bin/prettier.cjs --check . ${CACHED} --log-level warn`,
};

readArguments(`Usage: npm run check

Builds, then checks types, lint, format, imports between layers and generated files. The command has no options.`);

// If the source does not build, other checks would fail for the same reason.
await check(['build', 'dev/build/build.mjs']);
if (process.exitCode !== 1) await Promise.all(Object.entries(checks).map(check));

async function check([name, command]) {
  const startedAt = performance.now();
  const child = spawn(process.execPath, command.split(' '), { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const code = await new Promise((resolve) => child.on('close', resolve));
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${name}: ${code === 0 ? 'ok' : 'failed'} (${seconds} s)\n${output}`.trim());
  if (code !== 0) process.exitCode = 1;
}
