#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import type { Firestore } from '@google-cloud/firestore';
import { createDataRoutes, parseAllowedHosts, refuseForeignHost, type ViewerSettings } from '../viewer';
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
  const port = toPort('--port', values.port);
  const viewerPort = values.viewer === undefined ? undefined : toPort('--viewer', values.viewer);
  const { host, data, indexes: file } = values;
  const indexes = file === undefined ? {} : { indexes: readIndexes(file) };
  const firestore = await startFirestore({
    host,
    port,
    ...(data !== undefined && { dataDir: data }),
    ...indexes,
  }).catch((error: unknown) => {
    const typed = Object.entries({ host, port, data, indexes: file }).filter(([, value]) => value !== undefined);
    const options = typed.map(([name, value]) => `--${name} ${value === '' ? '""' : value}`).join(', ');
    throw new Error(`Firestore cannot start (${options}): ${toMessage(error)}`);
  });
  const stop = (): void => {
    firestore.close().then(() => process.exit(0), fail);
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  if (viewerPort !== undefined) await serveViewer(firestore, viewerPort, { project: values.project, ...indexes });
  console.log(`Ready: FIRESTORE_EMULATOR_HOST=${firestore.address}`);
}

function toPort(option: string, text: string): number {
  if (/^\d+$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`${option} "${text}" is not a port: it is a number from 0 to 65535.`);
}

function readIndexes(file: string): IndexDefinitions {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as IndexDefinitions;
  } catch (error) {
    throw new Error(`--indexes ${file} is not readable as JSON: ${toMessage(error)}`, { cause: error });
  }
}

async function serveViewer(
  { address }: EmbeddedFirestore,
  port: number,
  settings: ViewerSettings & { project: string },
): Promise<void> {
  const projectId = settings.project;
  const sdk = await import('@google-cloud/firestore').catch((error: unknown) => {
    throw new Error('--viewer reads by the SDK: npm install @google-cloud/firestore', { cause: error });
  });
  let client: Firestore | undefined;
  const getRoute = createDataRoutes(
    () => Promise.resolve((client ??= new sdk.Firestore({ projectId, host: address, ssl: false, customHeaders: {} }))),
    settings,
  );
  const allowedHosts = parseAllowedHosts(process.env['ALLOWED_HOSTS']);
  const server = createServer((request, response) => {
    if (refuseForeignHost(request, response, allowedHosts)) return;
    const route = getRoute((request.url ?? '').split('?', 1)[0] ?? '');
    if (route) route(request, response);
    else response.writeHead(302, { Location: '/data' }).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new Error(`--viewer ${port} cannot be served: ${error.message}`)));
    server.listen(port, '127.0.0.1', resolve);
  });
  console.log(`Data of the project ${projectId}: http://127.0.0.1:${(server.address() as AddressInfo).port}/data`);
}

const toMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function fail(error: unknown): void {
  console.error(toMessage(error));
  process.exit(1);
}

main().catch(fail);
