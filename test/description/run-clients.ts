import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ERROR_DEFINITIONS } from '../../functions/src/lib/errors';
import { cleanUp, createFirestoreClient, startLocalServer, temporaryFolder } from '../support/local-server';
import { runProgram } from '../support/programs';

/*
 * npm run build && node --import tsx test/description/run-clients.ts
 *
 * Generates clients in Go and Python from docs/openapi.json, with the generators' defaults. Each
 * client must compile, read the responses 200, 400, 401, 409 and 413, and store prices to the last
 * digit. The path must have both generators:
 *
 *     go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2
 *     pip install openapi-python-client==0.29.1
 */

const DESCRIPTION = resolve('docs/openapi.json');
const PROGRAMS = resolve('test/description/clients');

/** Generates a client in a folder, and returns what its program prints. */
type RunClient = (folder: string, env: Record<string, string>) => Promise<string>;

const clients: Record<string, RunClient> = {
  Go: async (folder, env) => {
    const run = (program: string, ...args: string[]) =>
      runProgram(program, args, { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 });
    const { stdout: code } = await run('oapi-codegen', '-package', 'api', DESCRIPTION);
    mkdirSync(join(folder, 'api'));
    writeFileSync(join(folder, 'api/api.go'), code);
    cpSync(join(PROGRAMS, 'main.go'), join(folder, 'main.go'));
    await run('go', 'mod', 'init', 'client');
    await run('go', 'mod', 'tidy');
    return (await run('go', 'run', '.')).stdout;
  },
  Python: async (folder, env) => {
    const generator = ['generate', '--path', DESCRIPTION, '--meta', 'none', '--output-path', join(folder, 'generated')];
    await runProgram('openapi-python-client', generator);
    cpSync(join(PROGRAMS, 'main.py'), join(folder, 'main.py'));
    return (await runProgram('python3', ['main.py'], { cwd: folder, env })).stdout;
  },
};

interface Result {
  price_list_id: string;
  path: string;
  errors: string[];
}

const { invalid_api_key, idempotency_key_reused, payload_too_large } = ERROR_DEFINITIONS;

async function main(): Promise<void> {
  const API_KEY = 'partner-key';
  const service = await startLocalServer({ API_KEY });
  const env = { API_KEY, BASE_URL: service.address('').replace(/\/$/, '') };
  const db = createFirestoreClient(service.firestoreAddress);
  for (const [language, run] of Object.entries(clients)) {
    const { price_list_id, path, errors } = JSON.parse(await run(temporaryFolder(), env)) as Result;
    const entry = await db.doc(`price_lists/${price_list_id}/products/cement`).get();
    const received = { path, errors, stored: entry.data() };
    const expected = {
      path: 'info.market_id',
      errors: [invalid_api_key, idempotency_key_reused, payload_too_large].map(({ message }) => message),
      stored: { price_list_price: 1234567.89 },
    };
    if (!isDeepStrictEqual(received, expected)) throw new Error(`${language}: received ${JSON.stringify(received)}`);
    console.log(`${language}: 200, 400, 401, 409 and 413 as described, the price stored to its last digit`);
  }
  await db.terminate();
}

main()
  .catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  })
  .finally(cleanUp);
