/** One runner for every suite; each folder of tests is a project of its own, so one can be run alone: `npx jest --selectProjects local`. */
const project = (displayName, roots) => ({
  displayName,
  roots,
  testEnvironment: 'node',
  transform: { '^.+\\.ts$': ['ts-jest', { tsconfig: 'tsconfig.jest.json' }] },
  modulePathIgnorePatterns: ['<rootDir>/functions/dist'],
});

export default {
  projects: [
    project('functions', ['<rootDir>/functions/test']),
    project('local', ['<rootDir>/local']),
    project('product', ['<rootDir>/test']),
  ],
  testTimeout: 30_000,
};
