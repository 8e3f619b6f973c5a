/*
 * npm run firestore -- record | compare | figures [options]
 *
 *     record     what Google's emulator answers, which `npm test` replays
 *     compare    a recording, by default the repository's, with the embedded Firestore; then writes conformance.md
 *     figures    the figures of README.md
 */

const VERBS: Record<string, () => Promise<unknown>> = {
  record: () => import('./conformance/record'),
  compare: () => import('./conformance/compare'),
  figures: () => import('../bench/figures'),
};

const [verb = ''] = process.argv.splice(2, 1);
const run = VERBS[verb];
if (run === undefined) {
  console.error(`Usage: npm run firestore -- ${Object.keys(VERBS).join(' | ')} [options]`);
  process.exitCode = 64;
} else {
  void run();
}
