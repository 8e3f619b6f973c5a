const ProgramEnvironment = require('../../../test/support/environment.cjs');

/** Skips the remaining tests of a file after its first failed test, which has already killed the mutant. Jest has no setting for this. */
module.exports = class MutantEnvironment extends ProgramEnvironment {
  #hasFailed = false;

  handleTestEvent({ name, test }) {
    if (name === 'test_done') this.#hasFailed ||= test.errors.length > 0;
    if (name === 'test_start' && this.#hasFailed) test.mode = 'skip';
  }
};
