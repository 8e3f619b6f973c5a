import './scripts/node-version.cjs';
import { availableParallelism } from 'node:os';

/** Folders that tests import from: `--watch` and `--findRelatedTests` see only files in these. */
const roots = ['functions', 'packages', 'local', 'test', 'scripts', 'docs/examples'];

/** Each folder of tests is a project of its own: `npx jest --selectProjects local`. */
export const project = (displayName, folder) => ({
  displayName,
  roots: roots.map((root) => `<rootDir>/${root}`),
  modulePathIgnorePatterns: ['<rootDir>/functions/dist/'],
  testMatch: [`<rootDir>/${folder}/**/*.test.ts`],
  testEnvironment: '<rootDir>/test/support/environment.cjs',
  // A test file runs in a context of its own, where looking up a global is slow: hashing spent half of a suite's time on it.
  sandboxInjectedGlobals: ['Math'],
  setupFiles: ['<rootDir>/test/support/setup.cjs', '<rootDir>/test/support/console.ts'],
  // As in the deployed bundle; and firebase-admin/auth needs a package that is an ES module only, which Jest cannot load.
  moduleNameMapper: {
    '^firebase-admin/(app-check|auth)$': '<rootDir>/scripts/bundle/no-callable-functions.cjs',
    // The typed client, an ES module, imports its files by the names that they have once compiled.
    '^(\\./(?:api|operations|price-lists|retry))\\.js$': '$1',
  },
  transform: { '^.+\\.ts$': 'ts-jest' },
});

export default {
  projects: [
    project('functions', 'functions/test'),
    project('packages', 'packages'),
    project('local', 'local'),
    project('product', 'test'),
  ],
  // Test files wait for processes, disks and timers as much as for processors.
  // A number: Jest reads a percentage over 100 as that many workers.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  workerIdleMemoryLimit: '1GB',
  // On a busy machine a worker that has no more to do takes longer to end than Jest's half a second.
  workerGracefulExitTimeout: 5_000,
  // Ends a test that hangs. It says nothing of how fast one should be: machines are busy.
  testTimeout: 120_000,
};
