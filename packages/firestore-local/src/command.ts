#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startFirestore, type IndexDefinitions } from '.';

/* The command `firestore-local` runs an embedded Firestore until SIGINT (Ctrl-C) or SIGTERM. */

const USAGE = `Usage: firestore-local [options]

  --port PORT          port to listen on (default 8080; 0 for any free port)
  --data DIR           data folder (default: in memory, nothing is kept)
  --indexes FILE       a firestore.indexes.json; queries that need an undeclared index are refused
  --help
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8080' },
      data: { type: 'string' },
      indexes: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const port = toPort('--port', values.port);
  const { data, indexes: file } = values;
  const firestore = await startFirestore({
    port,
    ...(data !== undefined && { dataDir: data }),
    ...(file !== undefined && { indexes: readIndexes(file) }),
  }).catch((error: unknown) => {
    const typed = Object.entries({ port, data, indexes: file }).filter(([, value]) => value !== undefined);
    const options = typed.map(([name, value]) => `--${name} ${value === '' ? '""' : value}`).join(', ');
    throw new Error(`Firestore cannot start (${options}): ${toMessage(error)}`);
  });
  const stop = (): void => {
    firestore.close().then(() => process.exit(0), fail);
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  console.log(`Ready: FIRESTORE_EMULATOR_HOST=${firestore.address}`);
}

function toPort(option: string, text: string): number {
  if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`${option} "${text}" is not a port. A port is a number from 0 to 65535.`);
}

function readIndexes(file: string): IndexDefinitions {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as IndexDefinitions;
  } catch (error) {
    throw new Error(`--indexes ${file} is not readable as JSON: ${toMessage(error)}`, { cause: error });
  }
}

const toMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function fail(error: unknown): void {
  console.error(toMessage(error));
  process.exit(1);
}

main().catch(fail);
