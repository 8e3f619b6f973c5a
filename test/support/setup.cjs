// Clients in tests have no credentials, and the SDK would look for them on the network.
process.env.METADATA_SERVER_DETECTION = 'none';

// Repeats a run of the property tests: `SEED=7 npx jest …`.
if (process.env.SEED !== undefined) require('fast-check').configureGlobal({ seed: Number(process.env.SEED) });
