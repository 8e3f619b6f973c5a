const ProgramEnvironment = require('../../../test/support/environment.cjs');

/** One failed test kills a mutant: those after it in the file are skipped, for which Jest has no setting. */
module.exports = class MutantEnvironment extends ProgramEnvironment {
  #hasFailed = false;

  handleTestEvent({ name, test }) {
    if (name === 'test_done') this.#hasFailed ||= test.errors.length > 0;
    if (name === 'test_start' && this.#hasFailed) test.mode = 'skip';
  }
};
