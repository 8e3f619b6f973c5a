const { default: Sequencer } = require('@jest/test-sequencer');

/** Suites that start programs or search for a long time. Without durations of an earlier run, Jest would run many of them last. */
const SLOW =
  /simulation|conformance|resilience|storage|\/(cli|fuzz|deployment|start|documents|browser)\/|\/(dev|deploy)\/test\//;

/** Runs the slow suites first, so that none of them runs alone at the end. */
module.exports = class SlowFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => (SLOW.test(path) ? 0 : 1);
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
};
