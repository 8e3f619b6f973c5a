#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import type { Firestore } from '@google-cloud/firestore';
import { createDataRoutes } from '../viewer';
import { startFirestore, type EmbeddedFirestore, type IndexDefinitions } from '.';

/* The command `firestore-local`: a Firestore until Ctrl-C. */

const USAGE = `Usage: firestore-local [options]

  --port PORT          port to listen on (default 8080; 0 is any free one)
  --host HOST          address to listen on (default 127.0.0.1)
  --data DIR           folder of the data (default: in memory, nothing is kept)
  --indexes FILE       a firestore.indexes.json: queries that need an index which it lacks are refused
  --viewer PORT        serves pages that show the data, at /data of this port
  --project PROJECT    project that the pages show (default demo-local)
  --help
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8080' },
      host: { type: 'string', default: '127.0.0.1' },
      data: { type: 'string' },
      indexes: { type: 'string' },
      viewer: { type: 'string' },
      project: { type: 'string', default: 'demo-local' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const firestore = await startFirestore({
    host: values.host,
    port: toPort(values.port),
    ...(values.data !== undefined && { dataDir: values.data }),
    ...(values.indexes !== undefined && {
      indexes: JSON.parse(readFileSync(values.indexes, 'utf8')) as IndexDefinitions,
    }),
  });
  const stop = (): void => {
    firestore.close().then(() => process.exit(0), fail);
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  if (values.viewer !== undefined) serveViewer(firestore, toPort(values.viewer), values.project);
  console.log(`Ready: FIRESTORE_EMULATOR_HOST=${firestore.address}`);
}

function toPort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`"${text}" is not a port.`);
  return port;
}

function serveViewer({ address }: EmbeddedFirestore, port: number, projectId: string): void {
  let client: Firestore | undefined;
  const getRoute = createDataRoutes(async () => {
    const sdk = await import('@google-cloud/firestore');
    return (client ??= new sdk.Firestore({ projectId, host: address, ssl: false, customHeaders: {} }));
  });
  const server = createServer((request, response) => {
    const route = getRoute((request.url ?? '').split('?', 1)[0] ?? '');
    if (route) route(request, response);
    else response.writeHead(302, { Location: '/data' }).end();
  });
  server.once('error', fail);
  server.listen(port, '127.0.0.1', () => console.log(`Data pages: http://127.0.0.1:${port}/data`));
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

main().catch(fail);
