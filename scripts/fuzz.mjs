import { run } from 'jest';

/** `npm run fuzz`: the fuzz suite with 20,000 requests instead of the few of a test run. FUZZ_REQUESTS sets another number. */

process.env['FUZZ_REQUESTS'] ??= '20000';
await run(['functions/test/fuzz', ...process.argv.slice(2)]);
