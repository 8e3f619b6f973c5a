import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Firestore } from '@google-cloud/firestore';
import { startFirestore, type IndexDefinitions } from '../packages/firestore-local/src';
import { seedIfEmpty } from '../local/sample';
import { PROJECT } from '../local/server/local-config';
import { assertPortFree } from '../local/server/port';
import { onStopRequest } from '../local/server/stop-requests';
import { readArguments } from './arguments.mjs';
import { dependencies } from '../.github/tools/package.json';
import { emulators } from '../firebase.json';
import definitions from '../firestore.indexes.json';

const USAGE = `Usage: npm run emulators [-- --embedded]

Runs Google's emulators of functions and Firestore with the sample data, until Ctrl-C. npx fetches firebase-tools at the version of the
workflows. That needs Java 21 and a download on first use. The ports are those of firebase.json.

--embedded  functions alone, over the embedded Firestore, without Java`;

const FIREBASE_TOOLS = `firebase-tools@${dependencies['firebase-tools']}`;

async function main(): Promise<void> {
  const { embedded = false } = readArguments(USAGE, { options: { embedded: { type: 'boolean' } } }).values;
  // Another program's Firestore would get the sample data.
  if (!embedded) await assertPortFree(emulators.firestore.port, 'emulators.firestore.port of firebase.json');
  await assertPortFree(emulators.functions.port, 'emulators.functions.port of firebase.json');
  // The emulator takes secrets from a file beside the code; it is not uploaded (firebase.json).
  await writeFile('functions/dist/.secret.local', `API_KEY=${process.env['API_KEY'] ?? 'local-dev-key'}\n`);

  const firestore = embedded ? await startFirestore({ indexes: definitions as IndexDefinitions }) : undefined;
  const address = firestore?.address ?? `${emulators.firestore.host}:${emulators.firestore.port}`;
  const only = embedded ? ['--only', 'functions'] : [];
  const suite = spawn('npx', ['--yes', FIREBASE_TOOLS, 'emulators:start', '--project', PROJECT, ...only], {
    stdio: 'inherit',
    env: { ...process.env, ...(embedded && { FIRESTORE_EMULATOR_HOST: address }) },
  });
  suite.once('error', fail);
  suite.once('exit', (code) => {
    void Promise.resolve(firestore?.close()).then(() => process.exit(code ?? 1));
  });
  // A terminal sends Ctrl-C to both; the suite ends first, and this process with it.
  onStopRequest(() => suite.kill('SIGTERM'));

  console.log(`${await seed(address)} sample records added to Firestore at ${address}`);
}

/** Adds the sample data as soon as there is a database: the suite may have to be fetched. */
async function seed(address: string): Promise<number> {
  process.env['FIRESTORE_EMULATOR_HOST'] = address;
  for (;;) {
    const client = new Firestore({ projectId: PROJECT });
    try {
      return await seedIfEmpty(client);
    } catch {
      await delay(1_000);
    } finally {
      await client.terminate();
    }
  }
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

main().catch(fail);
