/**
 * Mutation tests show which faults the suites of functions/test/modules find (docs/testing.md, "Mutation tests").
 *
 *     npx stryker run
 *     npx stryker run --mutate functions/src/price-lists/running-attempt.ts
 */
export default {
  plugins: ['@stryker-mutator/jest-runner'],
  testRunner: 'jest',
  jest: { configFile: 'jest.mutants.config.mjs' },
  coverageAnalysis: 'perTest',
  // A mutant in code that runs when a module loads would need all suites. One in twenty is such a mutant. Together they would take hours.
  ignoreStatic: true,
  mutate: [
    'functions/src/price-lists/*.ts',
    'functions/{audit,records}/*.ts',
    'functions/src/lib/json.ts',
    'functions/src/lib/http/{api-key,request-body,response}.ts',
    'functions/src/lib/firestore/{retry,query}.ts',
  ],
  thresholds: { high: 100, low: 85, break: 85 },
  // Jest strips types without checking them, so Stryker need not disable type checks.
  disableTypeChecks: false,
  ignorePatterns: ['.stryker', '**/dist', 'bench', 'local'],
  // A new test runner drops what mutants leave behind, such as timers, which would slow down later mutants.
  maxTestRunnerReuse: 100,
  tempDirName: '.stryker/sandbox',
  incrementalFile: '.stryker/incremental.json',
  reporters: ['progress-append-only', 'clear-text', 'html'],
  clearTextReporter: { logTests: false },
  htmlReporter: { fileName: '.stryker/report.html' },
};
