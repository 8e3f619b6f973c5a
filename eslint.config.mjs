import { defineConfig } from 'eslint/config';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

/** What reads the time of day. Through a global object, code could reach `Date` too. */
const OTHER_CLOCKS = ['Date', 'globalThis', 'global'].map((name) => ({
  name,
  message: 'Use the read time of a snapshot for stored times, and `clock.elapsedMs()` for elapsed time.',
}));

const PROCESS = {
  name: 'process',
  message: 'Read settings from the environment in lib/config.ts, and end the process in lib/instance/start.ts.',
};

export default defineConfig(
  {
    ignores: ['**/dist/', '**/.dev/', 'coverage/', '**/generated/', 'docs/examples/client/src/api.ts'],
  },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    // Checks all TypeScript files as one program. The project service is made for editors and takes longer.
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
    rules: { 'no-restricted-globals': ['error', ...OTHER_CLOCKS, PROCESS] },
  },
  {
    files: [
      'functions/src/lib/config.ts',
      'functions/src/lib/google-variables.ts',
      'functions/src/lib/firestore/connection.ts',
      'functions/src/lib/instance/start.ts',
    ],
    rules: { 'no-restricted-globals': ['error', ...OTHER_CLOCKS] },
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
          selector: 'ImportDeclaration[source.value=/^zod/] > :not(ImportNamespaceSpecifier, Literal)',
          message: "Use `import * as z`: the export `z` brings every language's messages into the bundle.",
        },
        {
          selector: "MemberExpression[object.name='performance'][property.name!='now']",
          message: 'Use only `performance.now`, which does not depend on the time of day.',
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
    files: ['**/*.test.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        // An empty object as the argument, or within it.
        ...['> ObjectExpression.arguments', '> .arguments ObjectExpression'].map((empty) => ({
          selector: `CallExpression[callee.property.name=/^(toMatchObject|objectContaining)$/] ${empty}[properties.length=0]`,
          message: 'Here, `{}` matches every object. Compare the object with toEqual.',
        })),
      ],
    },
  },
  { files: ['**/*.mjs', '**/*.cjs'], ...tseslint.configs.disableTypeChecked },
  { files: ['**/*.cjs'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
);
