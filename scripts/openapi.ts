import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { openApiDocument } from './openapi/document';
import { installToolPackages } from './tool-packages';

/** `npm run openapi`: writes docs/openapi.json from the service's code, and the types of docs/examples from that. */

void (async () => {
  await installToolPackages('scripts/openapi');
  await writeFile('docs/openapi.json', `${JSON.stringify(openApiDocument(), null, 2)}\n`);
  const generator = 'scripts/openapi/node_modules/openapi-typescript/bin/cli.js';
  const types = 'docs/examples/client/src/api.ts';
  await promisify(execFile)(process.execPath, [generator, 'docs/openapi.json', '--output', types]);
  console.log(`docs/openapi.json and ${types} are written`);
})();
