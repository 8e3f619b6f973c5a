const fastCheck = require('../../node_modules/fast-check/lib/cjs/fast-check.js');

// With a random seed, a test could fail after a change that did not cause the failure. The workflow seeds.yml sets a fresh seed.
fastCheck.configureGlobal({ seed: Number(process.env.SEED ?? 1) });

module.exports = fastCheck;
