/**
 * What is generated from the code, and by what. `npm run generate` writes all of it; with `--check` a generator writes nothing,
 * and fails if something is out of date.
 */
export const GENERATORS = {
  /** The API description, the client's types, tables of README.md and docs. */
  openapi: ['--import', 'tsx', 'scripts/openapi.ts'],
  /** The tables of costs and scale in docs/performance.md. */
  costs: ['--import', 'tsx', 'bench/costs/main.ts'],
  /** The picture of the layers in docs/architecture.md. */
  layers: ['scripts/layers.mjs'],
  /** The code that encodes and decodes Firestore's messages. */
  messages: ['scripts/messages.mjs'],
};

/** packages/firestore-local/conformance.md, which a test holds in place of `npm run check`: it replays 80,000 calls. */
export const CONFORMANCE = ['--import', 'tsx', 'packages/firestore-local/test/conformance/compare.ts'];
