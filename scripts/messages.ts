import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { installToolPackages } from './tool-packages';

/** `npm run messages`: generates the code of functions/src/lib/firestore/messages.proto, into another folder if one is given. */

void (async () => {
  await installToolPackages('scripts/messages');
  await promisify(execFile)(process.execPath, ['scripts/messages/generate.mjs', ...process.argv.slice(2)]);
})();
