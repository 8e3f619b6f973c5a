import './functions/node-version.cjs';
import { availableParallelism } from 'node:os';

/** Folders with source files or tests. `--watch` and `--findRelatedTests` see only their files. */
const roots = ['functions', 'command', 'emulator', 'dev', 'deploy', 'test', 'docs/examples'];

/** Packages that are ES modules, which Jest has to convert: string-width and its dependencies. */
const ES_MODULES = '/node_modules/(string-width|get-east-asian-width|strip-ansi|ansi-regex)/';

/** Creates the project of a folder of tests, which `npx jest --selectProjects NAME` runs. */
export const project = (displayName, folder) => ({
  displayName,
  roots: roots.map((root) => `<rootDir>/${root}`),
  modulePathIgnorePatterns: ['<rootDir>/functions/(dist|\\.dev)/'],
  globalSetup: '<rootDir>/test/jest/deploy-package.cjs',
  testMatch: [`<rootDir>/${folder}/**/*.test.ts`],
  testEnvironment: '<rootDir>/test/jest/environment.cjs',
  setupFiles: ['<rootDir>/test/jest/setup.cjs', '<rootDir>/test/harness/console.ts'],
  setupFilesAfterEnv: ['<rootDir>/test/jest/time-limit.cjs'],
  moduleNameMapper: {
    '^fast-check$': '<rootDir>/test/jest/fast-check.cjs',
    // Replaced, as in the deployed bundle, because Jest cannot load the ES module that both need.
    '^firebase-admin/(app-check|auth)$': '<rootDir>/dev/build/replacements/no-callable-functions.cjs',
    // The typed client is an ES module, so it imports its files by their compiled names, such as ./api.js.
    '^(\\./(?:api|http|operations))\\.js$': '$1',
  },
  transform: { '^.+\\.ts$': 'ts-jest', [ES_MODULES]: '<rootDir>/test/jest/to-commonjs.cjs' },
  transformIgnorePatterns: [],
});

export default {
  projects: [
    project('functions', 'functions/test'),
    project('command', 'command/test'),
    project('emulator', 'emulator/test'),
    project('dev', 'dev/test'),
    project('deploy', 'deploy/test'),
    project('product', 'test'),
  ],
  // Test files often wait for processes, disks and timers, so there are more workers than processors. This is a number, because
  // Jest would read a percentage over 100 as that many workers.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  testSequencer: '<rootDir>/test/jest/sequencer.cjs',
  // Concurrent tests mostly wait for processes and timers, so more of them can run at once than the 5 of Jest's default.
  maxConcurrency: 10,
  workerIdleMemoryLimit: '1GB',
  // On a busy machine, an idle worker can need more than Jest's half second to end.
  workerGracefulExitTimeout: 5_000,
  // So long that Jest gives up only on a test that hangs, because a test that it gives up on continues, and would disturb the next
  // test. On a busy machine, a test can take twenty times as long as usual.
  testTimeout: 600_000,
};
