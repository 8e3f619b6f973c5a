const { default: Sequencer } = require('@jest/test-sequencer');

/** Suites that take longest, longest first. */
const LONGEST = [
  'bench/soak/',
  'functions/test/simulation/simulation',
  'functions/test/resilience/fault-matrix',
  'functions/test/endpoints/add-price-lists.',
  'functions/test/fuzz/',
  'test/browser/',
  'functions/test/cli/',
  'functions/test/resilience/creation',
  'test/documents/examples',
  'packages/firestore-local/test/transactions',
  'test/description/',
  'test/start/start',
];

/** Has the longest suites begin first also in a first run, in which Jest goes by the sizes of files. */
module.exports = class LongestFirstSequencer extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted;
    const rank = ({ path }) => {
      const index = LONGEST.findIndex((start) => path.replaceAll('\\', '/').includes(`/${start}`));
      return index === -1 ? LONGEST.length : index;
    };
    return sorted.sort((a, b) => rank(a) - rank(b));
  }
};
