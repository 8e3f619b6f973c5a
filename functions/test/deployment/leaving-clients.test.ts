import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom, spreadSeed } from '../../../dev/random';
import type { DeployedFunction } from '../../../dev/run/deployed';
import { operationNames, operations, type OperationName } from '../../../dev/run/operations';
import {
  DEPLOYED_HEADERS,
  getLogged,
  sendTo,
  startDeployedPackage,
  type DeployedPackage,
} from '../../../test/harness/deployed-package';
import { createPriceListBody } from '../../../test/harness/submissions';
import { writeRecords } from '../../../test/harness/stored';
import { waitFor, waitUntilFired } from '../../../test/harness/wait-for';

/**
 * Tests that an instance survives every client that leaves. Clients leave a deployed function in each way of {@link LEAVES}, for each
 * of several responses, and afterwards another client gets its response. Then the instance stops, and exits with 0 although some
 * clients have left, and others leave at the end of their 500.
 */

const SEED = Number(process.env['SEED'] ?? 1);
const random = createRandom(spreadSeed(SEED));

const ENCODINGS = ['gzip', 'identity'];

/** How a client leaves. A random delay can end before the head of the response or at any later moment. */
const LEAVES = {
  'within 60 ms': async (socket: Socket) => delay(random.next() * 60).then(() => socket.destroy()),
  'within 60 ms with a reset': async (socket: Socket) => delay(random.next() * 60).then(() => socket.resetAndDestroy()),
  'at once': (socket: Socket) => Promise.resolve(socket.destroy()),
  'at the first byte': (socket: Socket) => waitForEvent(socket, 'data').then(() => socket.resetAndDestroy()),
  // This client sends no reset, because `resetAndDestroy` fails (EINVAL) and leaks the socket if Node is ending its side too.
  'at the end': (socket: Socket) => waitForEvent(socket, 'end').then(() => socket.destroy()),
} satisfies Record<string, (socket: Socket) => Promise<unknown>>;

/** Resolves at the event, or when the connection closes. */
const waitForEvent = (socket: Socket, event: string): Promise<void> =>
  new Promise((resolve) => {
    socket.once(event, () => resolve());
    socket.once('close', () => resolve());
    socket.resume();
  });

interface Sent {
  method: string;
  headers?: Record<string, string>;
  json?: unknown;
}

/** Sends a request, and leaves. */
async function leave(port: number, { method, headers, json }: Sent, encoding: string, how: keyof typeof LEAVES) {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  await waitForEvent(socket, 'connect');
  const body = json === undefined ? '' : JSON.stringify(json);
  const all = {
    ...DEPLOYED_HEADERS,
    ...headers,
    host: 'service',
    connection: 'close',
    'accept-encoding': encoding,
    'content-length': Buffer.byteLength(body),
  };
  const head = Object.entries(all).map((header) => header.join(': '));
  socket.write([`${method} / HTTP/1.1`, ...head, '', body].join('\r\n'));
  await LEAVES[how](socket);
}

/** The collection of each read operation. */
const COLLECTIONS: Partial<Record<OperationName, string>> = {
  getMarkets: 'markets',
  getTeams: 'teams',
  getWarehouses: 'warehouses',
  getOrdersByTeam: 'orders',
  supplyOrdersInvoices: 'supply_orders',
};

async function fill({ firestore, db }: DeployedPackage, collection: string, count: number): Promise<void> {
  firestore.clear();
  // A few long records fill several buffers of a response faster than many short records.
  const name = 'A name that is repeated and compresses well. '.repeat(50);
  const records = Array.from({ length: count }, (_, i) => {
    const invoices = [{ name, url: `https://example.com/${i}` }];
    const shared = { team_id: 'team-1', created_at: Date.UTC(2026, 0, 2), invoice_id: name, invoices };
    return [
      `${i}`,
      { ...shared, name: collection === 'markets' ? { en: name + String(i) } : name + String(i) },
    ] as const;
  });
  await writeRecords(db, collection, Object.fromEntries(records));
}

/**
 * Returns requests that get responses of different lengths, and requests that are rejected. Each has the preparation
 * that it needs.
 */
function createCases(
  world: DeployedPackage,
  name: OperationName,
): [what: string, sent: () => Sent, prepare?: () => Promise<void>][] {
  const { method, body: json } = operations[name];
  const collection = COLLECTIONS[name];
  const rejected: [string, () => Sent][] = [
    ['a 401', () => ({ method, headers: { 'x-api-key': 'wrong' }, json })],
    ['a 405', () => ({ method: 'DELETE' })],
  ];
  if (method === 'POST') rejected.push(['a 400', () => ({ method, json: [] })]);
  if (collection !== undefined) {
    const sizes = [0, 10, 100];
    return [
      ...sizes.map((count): [string, () => Sent, () => Promise<void>] => [
        `${count} records`,
        () => ({ method, json }),
        () => fill(world, collection, count),
      ]),
      ...rejected,
    ];
  }
  let lists = 0;
  const createList = (length: number) => () => {
    lists += 1;
    return { method, json: createPriceListBody(2, { boq_list_id: `left-${lists}`, name: 'n'.repeat(length) }) };
  };
  const invalid = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`product ${i}`, {}]));
  return [
    ['a short response', createList(10)],
    ['a compressed response', createList(400)],
    ['a long response', createList(9_000)],
    ['100 errors', () => ({ method, json: { ...createPriceListBody(0), products: invalid } })],
    ...rejected,
  ];
}

// These tests run concurrently, because they mostly wait.
test.concurrent.each(operationNames)(
  'an instance of %s answers the next client after clients that left, and exits with 0 if clients leave while it stops',
  async (name) => {
    const world = await startDeployedPackage();
    const running = await world.start(name);
    for (const [what, createRequest, prepare] of createCases(world, name)) {
      await prepare?.();
      for (const encoding of ENCODINGS) {
        const leaves = Object.keys(LEAVES) as (keyof typeof LEAVES)[];
        await Promise.all(leaves.map((how) => leave(running.port, createRequest(), encoding, how)));
        expect([what, encoding, await isServing(running, name)]).toEqual([what, encoding, true]);
      }
    }

    const rpc = COLLECTIONS[name] === undefined ? 'BatchGetDocuments' : 'RunQuery';
    const held = world.firestore.faults.inject({ rpc, times: Infinity, action: { kind: 'hang' } });
    const { method, body: json } = operations[name];
    const clients = ENCODINGS.map((encoding) => leave(running.port, { method, json }, encoding, 'at the end'));
    await waitUntilFired(held, Promise.all(clients));
    const leaving = ENCODINGS.map((encoding) => leave(running.port, { method, json }, encoding, 'within 60 ms'));
    await Promise.all(leaving);
    const exitCode = running.stop();
    await waitFor(() => getLogged(running, 'instance_stopping').length > 0);
    await Promise.all(clients);
    expect(await exitCode).toBe(0);
    expect(getLogged(running, 'instance_stopped')).toHaveLength(1);
    await world.close();
  },
);

/** Returns whether an instance answers another client. */
async function isServing(running: DeployedFunction, name: OperationName): Promise<boolean> {
  const { status } = await sendTo(running, name, operations[name].body);
  return running.alive() && status === 200;
}
