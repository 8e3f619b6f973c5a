import { spawnSync } from 'node:child_process';
import { CONFORMANCE, GENERATORS } from './generators.mjs';

/** `npm run generate` writes all that is generated. Stops at the first that fails. */
for (const [name, command] of Object.entries({ ...GENERATORS, conformance: CONFORMANCE })) {
  console.log(`${name}:`);
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' });
  if (status !== 0) {
    process.exitCode = 1;
    break;
  }
}
