import { project } from './jest.config.mjs';

const modules = project('mutants', 'functions/test/modules');

/** Jest's configuration for stryker.config.mjs. */
export default {
  ...modules,
  roots: ['<rootDir>/functions', '<rootDir>/packages', '<rootDir>/test'],
  setupFiles: [...modules.setupFiles, '<rootDir>/functions/test/mutants/setup.cjs'],
  // Stryker wraps this environment and resolves the path from this folder.
  testEnvironment: './functions/test/mutants/environment.cjs',
  // No limit of the suites: a mutant that hangs ends sooner.
  setupFilesAfterEnv: [],
  testTimeout: 20_000,
};
