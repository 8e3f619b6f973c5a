import { spawnSync } from 'node:child_process';

/*
 * node scripts/generate.mjs [--check]
 *
 * `npm run generate` writes all that is generated. With --check it fails if something is out of date.
 */

/** What is generated from the code, and by what. */
const GENERATORS = {
  /** The API description, and the client's types and operations. */
  openapi: ['--import', 'tsx', 'scripts/openapi.ts'],
  /** The tables of costs and scale in docs/performance.md. */
  costs: ['--import', 'tsx', 'bench/costs/main.ts'],
  /** The picture of the layers in docs/architecture.md. */
  layers: ['scripts/layers.mjs'],
  /** The code that encodes and decodes Firestore's messages. */
  messages: ['scripts/messages.mjs'],
};

/** The page conformance.md, which a test holds in place of --check: it replays 80,000 calls. */
const CONFORMANCE = ['--import', 'tsx', 'packages/firestore-local/test/conformance/compare.ts'];

const isCheck = process.argv.includes('--check');
const generators = isCheck ? GENERATORS : { ...GENERATORS, conformance: CONFORMANCE };
for (const [name, command] of Object.entries(generators)) {
  if (!isCheck) console.log(`${name}:`);
  const { status } = spawnSync(process.execPath, [...command, ...(isCheck ? ['--check'] : [])], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
