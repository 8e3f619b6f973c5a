/**
 * Defines the allowed imports, type imports included. `npm run check` enforces them; docs/architecture.md explains the layers.
 *
 *     index.ts -> operations -> price-lists -> lib/repositories -> lib/firestore
 *                           \-> lib/http, lib/schemas ----------\-> lib/*.ts, lib/json, lib/logging
 */

const SRC = '^functions/src/';

/** Files directly below lib/, and those of lib/json and lib/logging, which every layer may import. */
const GROUND = 'lib/([^/]+\\.ts$|json/|logging/)';

/** The folders that a folder of functions/src may import, besides itself and the ground. */
const LAYERS = {
  'lib/schemas': [],
  'lib/firestore': [],
  'lib/repositories': ['lib/schemas', 'lib/firestore'],
  'lib/http': ['lib/schemas'],
  'price-lists': ['lib/schemas', 'lib/firestore', 'lib/repositories'],
};

const layers = Object.entries(LAYERS).map(([layer, allowed]) => ({
  name: `layer-${layer.replace('/', '-')}`,
  comment: `${layer} may import ${[...allowed, 'lib/*.ts', 'lib/json', 'lib/logging'].join(', ')} and nothing else of functions/src.`,
  severity: 'error',
  from: { path: `${SRC}${layer}/` },
  to: { path: SRC, pathNot: `${SRC}(${[GROUND, ...[layer, ...allowed].map((folder) => `${folder}/`)].join('|')})` },
}));

const STORE = '^packages/firestore-local/src/';

/** The rooms that a room of the embedded Firestore may import, besides itself. */
const ROOMS = { engine: ['storage', 'protocol'], storage: ['protocol'], protocol: [] };

const rooms = Object.entries(ROOMS).map(([room, allowed]) => ({
  name: `firestore-local-${room}`,
  comment: `${room}/ may import ${allowed.join(' and ') || 'nothing'} of the package, besides itself.`,
  severity: 'error',
  from: { path: `${STORE}${room}/` },
  to: { path: '^packages/', pathNot: `${STORE}(${[room, ...allowed].join('|')})/` },
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
      comment: 'lib/*.ts, lib/json and lib/logging import no layer.',
      severity: 'error',
      from: { path: `${SRC}${GROUND}` },
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
      comment:
        'Packages of Firestore and gRPC are imported in lib/firestore alone; their types in lib/repositories, too.',
      severity: 'error',
      from: { path: SRC, pathNot: `${SRC}lib/firestore/` },
      to: { path: FIRESTORE_PACKAGES, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'firestore-types',
      comment: 'The types of Firestore packages end at lib/repositories.',
      severity: 'error',
      from: { path: SRC, pathNot: `${SRC}lib/(firestore|repositories)/` },
      to: { path: FIRESTORE_PACKAGES, dependencyTypes: ['type-only'] },
    },
    {
      name: 'parameters',
      comment: 'Parameters and secrets are read in lib/config.ts alone.',
      severity: 'error',
      from: { path: SRC, pathNot: `${SRC}lib/config\\.ts$` },
      to: { path: '(^|node_modules/)firebase-functions/.*params' },
    },
    {
      name: 'service-is-self-contained',
      comment: 'Nothing in functions/src knows its surroundings.',
      severity: 'error',
      from: { path: SRC },
      to: { path: '^(functions/(audit|cli|records|test)|packages|local|bench|scripts|test|docs)/' },
    },
    {
      name: 'cli-audit-and-records',
      comment:
        "The operator's command, the audit and functions/records never import an operation, HTTP, or what surrounds the service.",
      severity: 'error',
      from: { path: '^functions/(audit|cli|records)/' },
      to: { path: '^(functions/src/([^/]+\\.ts$|lib/http/)|functions/test/|packages/|local/|bench/|scripts/|test/)' },
    },
    {
      name: 'audit-knows-no-command',
      severity: 'error',
      from: { path: '^functions/audit/' },
      to: { path: '^functions/cli/' },
    },
    {
      name: 'records-know-no-reader',
      comment: 'The command, the audit and the data pages share functions/records, which knows none of them.',
      severity: 'error',
      from: { path: '^functions/records/' },
      to: { path: '^functions/(audit|cli|src/price-lists)/' },
    },
    {
      name: 'local-is-independent',
      comment:
        'The local stack knows only how the service parses its API key setting, and the names of its collections.',
      severity: 'error',
      from: { path: '^local/', pathNot: '/test/|^local/pages/data/' },
      to: { path: '^(functions/|bench/|test/)', pathNot: '^functions/src/lib/(api-keys|firestore/collections)\\.ts$' },
    },
    {
      name: 'data-pages-know-only-records',
      comment: 'The data pages find and read stored records as the command does, and know nothing else of the service.',
      severity: 'error',
      from: { path: '^local/pages/data/' },
      to: { path: '^(functions/(audit|cli|test|src/([^/]+\\.ts$|price-lists/|lib/http/))|bench/|test/)' },
    },
    {
      name: 'packages-know-no-service',
      comment: 'A package knows nothing of the repository around it.',
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
    ...rooms,
    {
      name: 'tests-do-not-import-bench',
      severity: 'error',
      from: { path: '^(functions/test|local|packages|test)/' },
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
