/**
 * Defines the allowed imports, type imports included. `npm run check` enforces them; docs/architecture.md explains the layers.
 *
 *     index.ts -> operations -> price-lists -> lib/repositories -> lib/firestore
 *                           \-> lib/http, lib/instance, lib/schemas -\-> lib/*.ts, lib/logging
 */

const SRC = '^functions/src/';

/** The folders of tests. */
const TESTS = '^(test|[^/]+/test)/';

/** Files directly below lib/, and those of lib/logging, which every layer may import. */
const GROUND = 'lib/([^/]+\\.ts$|logging/)';

/** The folders that a folder of functions/src may import, besides itself and the files of GROUND. */
const LAYERS = {
  'lib/schemas': [],
  'lib/logging': ['lib/schemas'],
  'lib/firestore': [],
  'lib/repositories': ['lib/schemas', 'lib/firestore'],
  'lib/instance': [],
  'lib/http': ['lib/schemas', 'lib/instance'],
  'price-lists': ['lib/schemas', 'lib/firestore', 'lib/repositories'],
};

/** Returns a pattern for the files of a package. */
const inPackage = (name, files = '') => `node_modules/${name}/${files}`;

/**
 * The packages that a part of functions/src may import. A part that is not here may import none,
 * except types of firebase-admin in lib/repositories.
 */
const PACKAGES = {
  '[^/]+\\.ts$': [inPackage('firebase-functions', '.*scheduler')],
  'lib/config\\.ts$': [inPackage('firebase-functions', '.*params')],
  'lib/logging/': [inPackage('firebase-functions', '.*logger')],
  'lib/http/': [inPackage('firebase-functions', '.*https'), inPackage('cors'), inPackage('negotiator')],
  'lib/schemas/': [inPackage('zod')],
  'lib/firestore/': [inPackage('firebase-admin'), inPackage('@grpc/grpc-js'), inPackage('protobufjs')],
  // Types of the generated code, which come with protobufjs.
  'lib/firestore/generated/': [inPackage('long')],
};

/** The modules of Node that functions/src may import. None of them starts programs or reads files. */
const NODE = '^(node:)?(buffer|crypto|diagnostics_channel|domain|http|stream|timers|util|zlib)(/|$)';

const outside = [
  { from: { path: SRC }, to: { path: NODE, dependencyTypes: ['core'] } },
  ...Object.entries(PACKAGES).map(([part, allowed]) => ({
    from: { path: `${SRC}${part}` },
    to: { path: allowed.join('|') },
  })),
  {
    from: { path: `${SRC}lib/repositories/` },
    to: { path: inPackage('firebase-admin'), dependencyTypes: ['type-only'] },
  },
];

/** What each part of functions/src may import from functions/src. A file that no part covers may import only modules of Node. */
const PARTS = {
  '[^/]+\\.ts$': ['.'],
  'lib/[^/]+\\.ts$': [GROUND],
  ...Object.fromEntries(
    Object.entries(LAYERS).map(([layer, allowed]) => [
      `${layer}/`,
      [GROUND, ...[layer, ...allowed].map((folder) => `${folder}/`)],
    ]),
  ),
};

const layers = Object.entries(PARTS).map(([part, allowed]) => ({
  from: { path: `${SRC}${part}` },
  to: { path: `${SRC}(${allowed.join('|')})` },
}));

/**
 * What each of these folders, the rooms, may import from other folders, as patterns of paths. Besides docs, a room imports only from
 * its own top-level folder and those to its right:
 *
 *     bench, deploy -> dev -> command -> functions, and emulator, which imports nothing
 *
 * Only tests import tests. The tests of emulator import only emulator. Other tests may import every room except bench, and of
 * emulator only its public API.
 */
const ROOMS = {
  'command/bin': ['command/cli/', 'functions/node-version\\.cjs'],
  'command/cli': ['command/(audit|records)/', 'functions/src/(price-lists|lib)/'],
  'command/audit': ['command/records/', 'functions/src/(price-lists|lib)/'],
  'command/records': ['functions/src/lib/'],
  'emulator/src': [],
  'dev/build': ['dev/program', 'functions/(node-version\\.cjs|package\\.json)'],
  'dev/generate': ['dev/program', 'command/audit/expected', 'functions/(src/|package\\.json)'],
  'dev/run': ['dev/random', 'functions/src/lib/region', 'docs/'],
  'dev/sample': ['dev/random', 'emulator/src/index'],
  'dev/pages': ['command/(records/|cli/text)', 'functions/src/lib/'],
  'dev/server': [
    'command/cli/text',
    'dev/(program|pages/|sample/)',
    'emulator/src/index',
    'functions/src/lib/(api-keys|google-variables)',
  ],
  'deploy/check': ['command/cli/outside-json', 'functions/src/lib/'],
  'deploy/verify': ['dev/run/', 'docs/'],
  deploy: ['command/cli/(outside-json|text)', 'dev/(program|run/)', 'docs/', 'functions/src/lib/'],
  bench: ['dev/(program|random|run/)', 'emulator/src/index', 'functions/src/(lib/|index)'],
};

const HERE = '^(functions|command|emulator|dev|deploy|bench|test|docs)/';

const rooms = Object.entries(ROOMS).map(([room, allowed]) => ({
  name: `room-${room.replace('/', '-')}`,
  comment: `From other folders, ${room} may import ${allowed.join(', ') || 'nothing'}.`,
  severity: 'error',
  from: { path: `^${room}/`, pathNot: TESTS },
  to: { path: HERE, pathNot: `^(${[`${room}/(?!test/)`, ...allowed].join('|')})` },
}));

const EMULATOR = '^emulator/src/';

/** The folders that a folder of the embedded Firestore may import, besides itself. */
const EMULATOR_FOLDERS = { engine: ['storage', 'protocol'], storage: ['protocol'], protocol: [] };

const emulatorFolders = Object.entries(EMULATOR_FOLDERS).map(([folder, allowed]) => ({
  name: `emulator-${folder}`,
  comment: `${folder}/ may import ${allowed.join(' and ') || 'nothing'} of the embedded Firestore, besides itself.`,
  severity: 'error',
  from: { path: `${EMULATOR}${folder}/` },
  to: { path: '^emulator/', pathNot: `${EMULATOR}(${[folder, ...allowed].join('|')})/` },
}));

/** The packages that these package.json files require, and packages that jest and protobufjs bring. */
const DECLARED = [
  ...['.', 'functions', 'command', 'emulator'].flatMap((folder) => {
    const { dependencies, devDependencies } = require(`./${folder}/package.json`);
    return Object.keys({ ...dependencies, ...devDependencies });
  }),
  ...['jest-environment-node', '@jest/test-sequencer', 'long'],
];

/**
 * The files that load child_process. Tests outside emulator start programs with dev/run/programs.ts, deployed functions with
 * dev/run/deployed.ts, firebase-functions with deploy/check/manifest.ts, and Chromium with Puppeteer. The three files create the
 * environment of what they start.
 */
const STARTERS =
  '^(bench/stack\\.ts|deploy/(release-check|check/manifest)\\.ts|dev/(check|link-node)\\.mjs|dev/build/build\\.mjs|dev/server/dev\\.ts|dev/run/(deployed|programs)\\.ts|emulator/test/support\\.ts)$';

module.exports = {
  // Each import in a file of functions/src must match one of `layers` or `outside`. The rules below restrict the rooms, and further restrict the layers.
  allowed: [{ from: { pathNot: SRC }, to: {} }, ...layers, ...outside],
  allowedSeverity: 'error',
  forbidden: [
    {
      name: 'no-circle',
      comment: 'Files that import each other cannot be understood, or loaded, one at a time.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'operations-are-the-top',
      comment: 'In functions/src, only index.ts imports the files of the operations and the sweep.',
      severity: 'error',
      from: { path: SRC, pathNot: `${SRC}index\\.ts$` },
      to: { path: `${SRC}[^/]+\\.ts$` },
    },
    {
      name: 'operations-are-exported',
      comment: 'functions/src/index.ts exports every operation and the sweep.',
      severity: 'error',
      from: { path: `${SRC}index\\.ts$` },
      to: { path: `${SRC}(?!index)[^/]+\\.ts$`, reachable: false },
    },
    {
      name: 'declared-packages',
      comment: 'Code imports only the packages of DECLARED. Name a new package in a package.json.',
      severity: 'error',
      from: { path: HERE },
      to: { path: 'node_modules/', pathNot: `node_modules/(${DECLARED.join('|')})/` },
    },
    {
      name: 'starters-of-programs',
      comment: 'Only the files of STARTERS load child_process or cluster.',
      severity: 'error',
      from: { path: HERE, pathNot: STARTERS },
      to: { path: '^(node:)?(child_process|cluster)$', dependencyTypesNot: ['type-only'] },
    },
    ...rooms,
    {
      name: 'every-folder-is-a-room',
      comment:
        'Of the folders that ROOMS lacks, only functions/src, docs and tests import more of the repository than dev/program.',
      severity: 'error',
      from: { path: HERE, pathNot: `${SRC}|^(${Object.keys(ROOMS).join('|')})/|${TESTS}|^docs/` },
      to: { path: HERE, pathNot: '^dev/program' },
    },
    {
      name: 'command-decides-nothing-about-http',
      comment:
        'The command and the data pages import no file directly in functions/src, and nothing of lib/http and lib/instance.',
      severity: 'error',
      from: { path: '^(command|dev/pages)/', pathNot: TESTS },
      to: { path: `${SRC}([^/]+\\.ts$|lib/(http|instance)/)` },
    },
    {
      name: 'pages-without-data-know-no-records',
      comment: 'Of the pages, only the data pages import code of the command and the functions.',
      severity: 'error',
      from: { path: '^dev/pages/', pathNot: '^dev/pages/data/' },
      to: { path: '^(command|functions)/' },
    },
    ...emulatorFolders,
    {
      name: 'emulator-by-its-public-api',
      comment: 'Of the embedded Firestore, code outside imports only src/index.ts and package.json.',
      severity: 'error',
      from: { pathNot: '^emulator/' },
      to: { path: '^emulator/', pathNot: '^emulator/(src/index\\.ts|package\\.json)$' },
    },
    {
      name: 'emulator-tests-alone',
      comment: 'The tests of the embedded Firestore import nothing else of the repository.',
      severity: 'error',
      from: { path: '^emulator/test/' },
      to: { path: HERE, pathNot: '^emulator/' },
    },
    {
      name: 'no-importer-of-bench',
      severity: 'error',
      from: { path: HERE, pathNot: '^bench/' },
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
