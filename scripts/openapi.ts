import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createClientOperations } from './openapi/client';
import { createOpenApiDocument } from './openapi/document';
import { writePages } from './openapi/pages';
import { installToolPackages } from './tool-packages';

/** `npm run openapi`: writes what follows from the service's operations: the description, the client, tables of pages. */

const CLIENT = 'docs/examples/client/src';

void (async () => {
  const document = createOpenApiDocument();
  await writeFile('docs/openapi.json', `${JSON.stringify(document, null, 2)}\n`);
  await writeFile(`${CLIENT}/operations.ts`, createClientOperations());
  const pages = writePages(document);
  await installToolPackages('scripts/openapi');
  const generator = 'scripts/openapi/node_modules/openapi-typescript/bin/cli.js';
  await promisify(execFile)(process.execPath, [generator, 'docs/openapi.json', '--output', `${CLIENT}/api.ts`]);
  console.log(
    ['Up to date:', 'docs/openapi.json', `${CLIENT}/api.ts`, `${CLIENT}/operations.ts`, ...pages].join('\n  '),
  );
})().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
