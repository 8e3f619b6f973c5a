const fastCheck = require('../../node_modules/fast-check/lib/cjs/fast-check.js');

// Without a fixed seed, a change could fail the tests of another change. The scheduled workflow sets a fresh one.
fastCheck.configureGlobal({ seed: Number(process.env.SEED ?? 1) });

module.exports = fastCheck;
