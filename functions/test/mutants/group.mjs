const MODULES = 'functions/test/modules';

/**
 * Makes the configuration of Stryker for a group of source files: docs/testing.md#mutation-tests.
 *
 * @param name of its reports
 * @param files in functions/src
 * @param suites in functions/test/modules that judge the files; all of them run for every mutant that they reach
 * @param minScore per cent of the mutants that the suites must kill
 */
export const createGroup = ({ name, files, suites, minScore }) => ({
  plugins: ['@stryker-mutator/jest-runner'],
  testRunner: 'jest',
  jest: {
    configFile: 'jest.mutants.config.mjs',
    config: { testMatch: suites.map((suite) => `<rootDir>/${MODULES}/${suite}.test.ts`) },
  },
  coverageAnalysis: 'perTest',
  mutate: files.map((file) => `functions/src/${file}.ts`),
  thresholds: { high: 100, low: minScore, break: minScore },
  // Types are stripped, not checked.
  disableTypeChecks: false,
  ignorePatterns: ['.stryker', '**/dist', 'bench', 'docs', 'local'],
  // What a mutant leaves behind, such as a timer, does not slow down all that follow.
  maxTestRunnerReuse: 100,
  tempDirName: `.stryker/${name}`,
  incrementalFile: `.stryker/${name}-incremental.json`,
  reporters: ['progress-append-only', 'clear-text', 'html', 'json'],
  clearTextReporter: { logTests: false },
  htmlReporter: { fileName: `.stryker/${name}.html` },
  jsonReporter: { fileName: `.stryker/${name}.json` },
});
