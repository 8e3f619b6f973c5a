import tseslint from 'typescript-eslint';

/** Modules that only one room may import; everything else reaches them through that room. */
const wall = (files, except, patterns) => ({
  files,
  ignores: except,
  rules: { 'no-restricted-imports': ['error', { patterns }] },
});

const firestore = {
  group: ['firebase-admin', 'firebase-admin/*', '@google-cloud/firestore'],
  message: 'Only lib/firestore and lib/repositories know Firestore.',
};
const params = { group: ['firebase-functions/params'], message: 'Only lib/config.ts reads parameters and secrets.' };
const local = { group: ['**/local/**'], message: 'Nothing in local/ is deployed or imported by functions/src.' };
const operator = { group: ['**/cli/**'], message: "The operator's command is never deployed." };

export default tseslint.config(
  {
    ignores: [
      '**/node_modules/',
      '**/dist/',
      '**/.dev/',
      'coverage/',
      '**/generated/',
      'docs/examples/client/src/api.ts',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      'no-console': 'error',
    },
  },
  {
    files: [
      'local/**',
      'test/**',
      'bench/**',
      'scripts/**',
      'docs/**',
      'functions/test/simulation/run-simulation.ts',
      'functions/test/resilience/run-recovery.ts',
    ],
    rules: { 'no-console': 'off' },
  },
  wall(
    ['functions/src/**'],
    ['functions/src/lib/{firestore,repositories}/**', 'functions/src/lib/config.ts'],
    [firestore, params, local, operator],
  ),
  wall(['functions/src/lib/{firestore,repositories}/**'], [], [params, local, operator]),
  wall(['functions/src/lib/config.ts'], [], [firestore, local, operator]),
  wall(['functions/cli/**'], ['functions/cli/stored-records.ts'], [firestore, params, local]),
  wall(
    ['local/**'],
    ['local/**/test/**'],
    [{ group: ['**/functions/src/**'], message: 'local/ knows nothing of the service.' }],
  ),
  { files: ['**/*.mjs', '**/*.cjs'], ...tseslint.configs.disableTypeChecked },
  { files: ['**/*.cjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
);
