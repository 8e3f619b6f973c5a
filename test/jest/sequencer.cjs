const { default: Sequencer } = require('@jest/test-sequencer');

/** Matches most of the slow suites. Without durations of an earlier run, Jest would run many of them last. */
const SLOW =
  /simulation|conformance|resilience|storage|\/(cli|fuzz|deployment|start|documents|browser)\/|\/(dev|deploy)\/test\//;

/** Runs these suites first, so that none of them starts last and runs alone. */
module.exports = class SlowFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => (SLOW.test(path) ? 0 : 1);
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
};
