import module from 'node:module';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';

/** Packages load compiled, here and in the workers; environment.cjs keeps it from what the tests start. */
process.env.NODE_COMPILE_CACHE ??= resolve('functions/.dev/compile-cache');
module.enableCompileCache(process.env.NODE_COMPILE_CACHE);

/** No client of a test has credentials; the SDK would look for them on the network. */
process.env.METADATA_SERVER_DETECTION = 'none';

/** Folders that tests import from: `--watch` and `--findRelatedTests` see only files in these. */
const roots = [
  'functions/src',
  'functions/cli',
  'functions/test',
  'local',
  'packages',
  'test',
  'bench',
  'scripts',
  'docs/examples',
];

/** Jest looks every global up through a proxy, which takes most of the time of a loop over bytes; these are parameters. */
const injectedGlobals = [
  'Array',
  'ArrayBuffer',
  'BigInt',
  'Buffer',
  'DataView',
  'Date',
  'Error',
  'Float64Array',
  'JSON',
  'Map',
  'Math',
  'Number',
  'Object',
  'Promise',
  'RegExp',
  'Set',
  'String',
  'Symbol',
  'Uint8Array',
  'performance',
  'process',
];

/** Each folder of tests is a project of its own: `npx jest --selectProjects local`. */
const project = (displayName, folder) => ({
  displayName,
  roots: roots.map((root) => `<rootDir>/${root}`),
  testMatch: [`<rootDir>/${folder}/**/*.test.ts`],
  testEnvironment: '<rootDir>/scripts/jest/environment.cjs',
  runtime: '<rootDir>/scripts/jest/runtime.cjs',
  sandboxInjectedGlobals: injectedGlobals,
  transform: { '^.+\\.ts$': ['ts-jest', { tsconfig: 'tsconfig.jest.json' }] },
});

export default {
  projects: [
    project('functions', 'functions/test'),
    project('local', 'local'),
    project('packages', 'packages'),
    project('product', 'test'),
    project('bench', 'bench'),
  ],
  testSequencer: '<rootDir>/scripts/jest/sequencer.cjs',
  // Test files wait for processes, disks and timers as much as for processors.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  // On a busy machine a worker that has no more to do takes longer to end than Jest's half a second.
  workerGracefulExitTimeout: 5_000,
  // Ends a test that hangs. It says nothing of how fast one should be: machines are busy.
  testTimeout: 120_000,
};
