import { spawn, type ChildProcess } from 'node:child_process';
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
  // Otherwise another program's Firestore would get the sample data.
  if (!embedded) await assertPortFree(emulators.firestore.port, 'emulators.firestore.port of firebase.json');
  await assertPortFree(emulators.functions.port, 'emulators.functions.port of firebase.json');
  // The emulator reads secrets from a file beside the code, which is not uploaded (firebase.json).
  // It reads a value in double quotes with the escapes of JSON.
  const apiKey = JSON.stringify(process.env['API_KEY'] ?? 'local-dev-key');
  await writeFile('functions/dist/.secret.local', `API_KEY=${apiKey}\n`);

  const firestore = embedded ? await startFirestore({ indexes: definitions as IndexDefinitions }) : undefined;
  const address = firestore?.address ?? `${emulators.firestore.host}:${emulators.firestore.port}`;
  const only = embedded ? ['--only', 'functions'] : [];
  const suite = spawn('npx', ['--yes', FIREBASE_TOOLS, 'emulators:start', '--project', PROJECT, ...only], {
    // Neither npx nor the suite passes signals on, so signals go to the process group, which also contains Java.
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: process.platform !== 'win32',
    env: { ...process.env, ...(embedded && { FIRESTORE_EMULATOR_HOST: address }) },
  });
  suite.once('error', fail);
  let isStopping = false;
  suite.once('exit', (code) => {
    void endGroup(suite)
      .then(() => firestore?.close())
      .then(() => process.exit(isStopping ? 0 : (code ?? 1)));
  });
  onStopRequest(() => {
    isStopping = true;
    signalGroup(suite, 'SIGTERM');
  });

  console.log(`${await seed(address)} sample records added to Firestore at ${address}`);
}

/** @returns whether the group still has a process */
function signalGroup(leader: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return leader.pid !== undefined && process.kill(process.platform === 'win32' ? leader.pid : -leader.pid, signal);
  } catch {
    return false;
  }
}

/** How long the suite may take to stop its emulators once npx has ended, in ms. */
const STOP_MS = 10_000;

/** Waits until no process of the group is left, so that all ports are free. */
async function endGroup(leader: ChildProcess): Promise<void> {
  const deadline = performance.now() + STOP_MS;
  while (signalGroup(leader, 0)) {
    if (performance.now() > deadline) signalGroup(leader, 'SIGKILL');
    await delay(100);
  }
}

/** Adds the sample data once the database responds, which may take as long as npx fetches firebase-tools. */
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
