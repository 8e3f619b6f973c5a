import { defineConfig } from 'eslint/config';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

export default defineConfig(
  {
    ignores: ['**/dist/', '**/.dev/', 'coverage/', '**/generated/', 'docs/examples/client/src/api.ts'],
  },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    // Checks all files as one TypeScript program. The project service is made for editors and takes longer.
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { regexp },
    rules: {
      // Clients choose some of the texts that regular expressions search. With super-linear backtracking, a text could take minutes.
      'regexp/no-super-linear-backtracking': 'error',
      'regexp/no-super-linear-move': ['error', { ignorePartial: false, ignoreSticky: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      'no-console': 'error',
    },
  },
  {
    files: ['emulator/**', 'dev/**', 'deploy/**', 'bench/**', 'test/**', 'docs/**', 'functions/node-version.cjs'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['functions/src/**'],
    rules: {
      'no-restricted-globals': [
        'error',
        {
          name: 'Date',
          message: 'Use the read time of a snapshot for stored times, and `clock.elapsedMs()` for elapsed time.',
        },
      ],
    },
  },
  {
    // The command may use `Date` to format stored times, but not to read the machine's clock.
    files: ['command/{audit,cli,records}/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[
          "MemberExpression[object.name='Date'][property.name='now']",
          "NewExpression[callee.name='Date'][arguments.length=0]",
          "CallExpression[callee.name='Date']",
        ].map((selector) => ({ selector, message: 'Use the read time of a snapshot, or `clock.elapsedMs()`.' })),
      ],
    },
  },
  {
    files: ['functions/src/**'],
    rules: {
      'max-lines': ['error', 300],
      'max-lines-per-function': ['error', 50],
      'no-restricted-syntax': [
        'error',
        {
          selector: "ImportDeclaration[source.value='zod'] > ImportSpecifier[imported.name='z']",
          message: "Use `import * as z`: `z` brings every language's messages into the bundle.",
        },
        ...[
          "MemberExpression[object.type!='ThisExpression'][property.name='message']",
          "ObjectPattern > Property[key.name='message']",
        ].map((selector) => ({
          selector,
          message: 'The message of an error can quote a value that must not be logged. Use `getErrorMessage`.',
        })),
      ],
    },
  },
  {
    files: ['*/test/**', 'test/**'],
    ignores: ['emulator/**'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          name: 'node:child_process',
          message: 'Start programs with dev/run/programs.ts, which creates their environment.',
          allowTypeImports: true,
        },
      ],
    },
  },
  {
    // Tests search only texts of this repository, so super-linear backtracking cannot take long.
    files: ['*/test/**', 'test/**'],
    rules: { 'regexp/no-super-linear-backtracking': 'off', 'regexp/no-super-linear-move': 'off' },
  },
  { files: ['**/*.mjs', '**/*.cjs'], ...tseslint.configs.disableTypeChecked },
  { files: ['**/*.cjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
);
