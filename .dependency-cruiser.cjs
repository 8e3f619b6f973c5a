/**
 * Defines the allowed imports, type imports included. `npm run check` enforces them; docs/architecture.md explains the layers.
 *
 *     index.ts -> operations -> price-lists -> lib/repositories -> lib/firestore
 *                           \-> lib/http, lib/instance, lib/schemas -\-> lib/*.ts, lib/logging
 */

const SRC = '^functions/src/';

/** Files directly below lib/, and those of lib/logging, which every layer may import. */
const GROUND = 'lib/([^/]+\\.ts$|logging/)';

/** The folders that a folder of functions/src may import, besides itself and the ground. */
const LAYERS = {
  'lib/schemas': [],
  'lib/logging': ['lib/schemas'],
  'lib/firestore': [],
  'lib/repositories': ['lib/schemas', 'lib/firestore'],
  'lib/instance': [],
  'lib/http': ['lib/schemas', 'lib/instance'],
  'price-lists': ['lib/schemas', 'lib/firestore', 'lib/repositories'],
};

const layers = Object.entries(LAYERS).map(([layer, allowed]) => ({
  name: `layer-${layer.replace('/', '-')}`,
  comment: `${layer} may import ${[...allowed, 'lib/*.ts', 'lib/logging'].join(', ')} and nothing else of functions/src.`,
  severity: 'error',
  from: { path: `${SRC}${layer}/` },
  to: { path: SRC, pathNot: `${SRC}(${[GROUND, ...[layer, ...allowed].map((folder) => `${folder}/`)].join('|')})` },
}));

const STORE = '^packages/firestore-local/src/';

/** The folders that a folder of the embedded Firestore may import, besides itself. */
const STORE_FOLDERS = { engine: ['storage', 'protocol'], storage: ['protocol'], protocol: [] };

const storeFolders = Object.entries(STORE_FOLDERS).map(([folder, allowed]) => ({
  name: `firestore-local-${folder}`,
  comment: `${folder}/ may import ${allowed.join(' and ') || 'nothing'} of the package, besides itself.`,
  severity: 'error',
  from: { path: `${STORE}${folder}/` },
  to: { path: '^packages/', pathNot: `${STORE}(${[folder, ...allowed].join('|')})/` },
}));

/** Returns a pattern for the paths of packages, and for their bare names where they cannot be resolved. */
const packages = (...names) => `(^|node_modules/)(${names.join('|')})(/|$)`;

const FIRESTORE_PACKAGES = packages('firebase-admin', '@google-cloud/firestore', '@grpc/grpc-js', 'protobufjs');

module.exports = {
  forbidden: [
    {
      name: 'no-circle',
      comment: 'Files that import each other cannot be understood, or loaded, one at a time.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...layers,
    {
      name: 'ground',
      comment: 'lib/*.ts imports no layer.',
      severity: 'error',
      from: { path: `${SRC}lib/[^/]+\\.ts$` },
      to: { path: SRC, pathNot: `${SRC}${GROUND}` },
    },
    {
      name: 'operations-are-the-top',
      comment: 'Only index.ts imports the file of an operation.',
      severity: 'error',
      from: { path: SRC, pathNot: `${SRC}index\\.ts$` },
      to: { path: `${SRC}[^/]+\\.ts$` },
    },
    {
      name: 'operations-are-exported',
      comment: 'functions/src/index.ts exports every operation.',
      severity: 'error',
      from: { path: `${SRC}index\\.ts$` },
      to: { path: `${SRC}(?!index)[^/]+\\.ts$`, reachable: false },
    },
    {
      name: 'firestore-packages',
      comment: 'Only lib/firestore imports packages of Firestore and gRPC. lib/repositories may import their types.',
      severity: 'error',
      from: { path: SRC, pathNot: `${SRC}lib/firestore/` },
      to: { path: FIRESTORE_PACKAGES, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'firestore-types',
      comment: 'Only lib/firestore and lib/repositories import types of Firestore packages.',
      severity: 'error',
      from: { path: SRC, pathNot: `${SRC}lib/(firestore|repositories)/` },
      to: { path: FIRESTORE_PACKAGES, dependencyTypes: ['type-only'] },
    },
    {
      name: 'parameters',
      comment: 'Only lib/config.ts reads parameters and secrets.',
      severity: 'error',
      from: { path: SRC, pathNot: `${SRC}lib/config\\.ts$` },
      to: { path: '(^|node_modules/)firebase-functions/.*params' },
    },
    {
      name: 'service-is-self-contained',
      comment: 'functions/src imports nothing from other folders of the repository.',
      severity: 'error',
      from: { path: SRC },
      to: { path: '^(functions/(audit|cli|records|test)|packages|local|bench|scripts|test|docs)/' },
    },
    {
      name: 'cli-audit-and-records',
      comment:
        'The command, the audit and functions/records import no operation, HTTP code or test, and nothing of packages, local, bench or scripts.',
      severity: 'error',
      from: { path: '^functions/(audit|cli|records)/' },
      to: {
        path: '^(functions/src/([^/]+\\.ts$|lib/(http|instance)/)|functions/test/|packages/|local/|bench/|scripts/|test/)',
      },
    },
    {
      name: 'audit-knows-no-command',
      severity: 'error',
      from: { path: '^functions/audit/' },
      to: { path: '^functions/cli/' },
    },
    {
      name: 'records-know-no-reader',
      comment: 'The command, the audit and the data pages share functions/records, which imports none of them.',
      severity: 'error',
      from: { path: '^functions/records/' },
      to: { path: '^functions/(audit|cli|src/price-lists)/' },
    },
    {
      name: 'local-is-independent',
      comment:
        'Outside the data pages, local/ imports only the parser of the API key setting and the names of collections from the service.',
      severity: 'error',
      from: { path: '^local/', pathNot: '/test/|^local/pages/data/' },
      to: { path: '^(functions/|bench/|test/)', pathNot: '^functions/src/lib/(api-keys|firestore/collections)\\.ts$' },
    },
    {
      name: 'data-pages-know-only-records',
      comment: 'The data pages read records as the command does, and import no operation or HTTP code of the service.',
      severity: 'error',
      from: { path: '^local/pages/data/' },
      to: { path: '^(functions/(audit|cli|test|src/([^/]+\\.ts$|price-lists/|lib/(http|instance)/))|bench/|test/)' },
    },
    {
      name: 'packages-know-no-service',
      comment: 'A package imports nothing from the repository around it.',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(functions|local|bench|scripts|test|docs)/' },
    },
    {
      name: 'packages-by-their-public-api',
      comment: 'Code outside a package imports only its src/index.ts or manifest.',
      severity: 'error',
      from: { pathNot: '^packages/' },
      to: { path: '^packages/', pathNot: '^packages/[^/]+/(src/index\\.ts|package\\.json)$' },
    },
    ...storeFolders,
    {
      name: 'programs-use-no-tests',
      comment: 'Programs import no test. They share scripts/harness with tests.',
      severity: 'error',
      from: { path: '^(scripts|bench|local)/', pathNot: '/test/' },
      to: { path: '(^test|^functions/test|/test)/', pathNot: 'node_modules' },
    },
    {
      name: 'harness-knows-no-program',
      severity: 'error',
      from: { path: '^scripts/harness/' },
      to: { path: '^scripts/(?!harness/)' },
    },
    {
      name: 'scripts-know-no-local',
      comment: 'scripts/ does not import local/, which imports the parser of arguments from scripts/.',
      severity: 'error',
      from: { path: '^scripts/' },
      to: { path: '^local/' },
    },
    {
      name: 'no-importer-of-bench',
      severity: 'error',
      from: { path: '^(functions/test|local|packages|scripts|test)/' },
      to: { path: '^bench/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // Resolves packages as Node does, by their `exports`.
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['node', 'require', 'default'] },
  },
};
