import { run } from 'jest';

/**
 * `npm run fuzz`: the fuzz suite with 20,000 hostile requests and 60 expensive bodies instead of the few of a test run.
 * FUZZ_REQUESTS and FUZZ_BODIES set other numbers.
 */

process.env['FUZZ_REQUESTS'] ??= '20000';
process.env['FUZZ_BODIES'] ??= '60';
await run(['functions/test/fuzz', ...process.argv.slice(2)]);
