/**
 * Mutation tests: how much the suites of functions/test/modules see (docs/testing.md, "Mutation tests").
 *
 *     npx stryker run
 *     npx stryker run --mutate functions/src/price-lists/lease.ts
 */
export default {
  plugins: ['@stryker-mutator/jest-runner'],
  testRunner: 'jest',
  jest: { configFile: 'jest.mutants.config.mjs' },
  coverageAnalysis: 'perTest',
  // Each mutant of what a module computes as it is loaded would run all suites: hours for one in twenty.
  ignoreStatic: true,
  mutate: [
    'functions/src/price-lists/*.ts',
    'functions/audit/*.ts',
    'functions/src/lib/json/*.ts',
    'functions/src/lib/http/{api-key,request-body,response}.ts',
    'functions/src/lib/firestore/{retry,query}.ts',
  ],
  thresholds: { high: 100, low: 85, break: 85 },
  // Types are stripped, not checked.
  disableTypeChecks: false,
  ignorePatterns: ['.stryker', '**/dist', 'bench', 'local'],
  // What a mutant leaves behind, such as a timer, does not slow down all that follow.
  maxTestRunnerReuse: 100,
  tempDirName: '.stryker/sandbox',
  incrementalFile: '.stryker/incremental.json',
  reporters: ['progress-append-only', 'clear-text', 'html'],
  clearTextReporter: { logTests: false },
  htmlReporter: { fileName: '.stryker/report.html' },
};
