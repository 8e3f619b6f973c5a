import { project } from './jest.config.mjs';

const modules = project('mutants', 'functions/test/modules');

/** How stryker.config.mjs runs the suites. */
export default {
  ...modules,
  roots: ['<rootDir>/functions', '<rootDir>/packages', '<rootDir>/test'],
  setupFiles: [...modules.setupFiles, '<rootDir>/functions/test/mutants/setup.cjs'],
  // Stryker wraps it, and looks it up from this folder.
  testEnvironment: './functions/test/mutants/environment.cjs',
  testTimeout: 20_000,
};
