import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import * as functions from '../../src';
import { runProgramSync, startProgramWithInput } from '../../../test/support/programs';
import { postOperationNames, type OperationName } from '../support/operations';
import { TEST_API_KEY, useTestService } from '../support/service';
import { waitFor } from '../support/wait-for';

/**
 * Responses that are sent before the body has arrived, to clients that send all of it before they read. What they send
 * meets a closed connection, and they lose the response, unless the service discards the rest of the body first.
 */

const service = useTestService(functions);
beforeEach(() => service.reset());

const MB = 1_000_000;
const MIB = 1_048_576;

interface RawRequest {
  method?: string;
  headers?: Record<string, string>;
  bodyBytes?: number;
}

/** Opens a connection that reads nothing, and sends the head of a request on it. */
async function openRaw(name: OperationName, { method = 'POST', headers = {}, bodyBytes = 8 * MB }: RawRequest) {
  const socket = connect(service.port(name), '127.0.0.1');
  socket.pause();
  await new Promise((resolve) => socket.once('connect', resolve));
  const all = { host: 'localhost', 'content-type': 'application/json', 'content-length': bodyBytes, ...headers };
  const lines = Object.entries(all).map(([header, value]) => `${header}: ${value}\r\n`);
  socket.write(`${method} / HTTP/1.1\r\n${lines.join('')}\r\n`);
  return socket;
}

/** Sends everything, and reads only then. @returns the status and the body; rejects if the connection breaks before that */
async function sendThenRead(name: OperationName, request: RawRequest = {}) {
  const socket = await openRaw(name, request);
  const closed = new Promise((resolve, reject) => socket.once('close', resolve).once('error', reject));
  await new Promise<void>((resolve, reject) =>
    socket.write(Buffer.alloc(request.bodyBytes ?? 8 * MB, ' '), (error) => (error ? reject(error) : resolve())),
  );
  const [head = '', body] = (await text(socket)).split('\r\n\r\n');
  await closed;
  return { status: Number(head.split(' ')[1]), head, body };
}

const CLOSE = { connection: 'close' };
const WRONG_KEY = { 'x-api-key': 'wrong' };
const KEY = { 'x-api-key': TEST_API_KEY };

describe('a client that sends 8 MB before it reads gets', () => {
  test.each<[string, OperationName, RawRequest, number]>([
    ['401 of add price lists', 'addPriceLists', { headers: WRONG_KEY }, 401],
    ['401 of a read', 'getOrdersByTeam', { headers: {} }, 401],
    ['401 of a list', 'getTeams', { method: 'GET', headers: WRONG_KEY }, 401],
    ['405', 'getMarkets', { method: 'PUT', headers: KEY }, 405],
    ['405 for HEAD', 'getMarkets', { method: 'HEAD', headers: KEY }, 405],
    ['413 for its length', 'supplyOrdersInvoices', { headers: KEY }, 413],
    ['400 for its content type', 'addPriceLists', { headers: { ...KEY, 'content-type': 'text/plain' } }, 400],
    ['204 for a preflight', 'getWarehouses', { method: 'OPTIONS' }, 204],
    ['200 of a list, which takes no body', 'getTeams', { method: 'GET', headers: KEY }, 200],
  ])('%s', async (_, name, request, status) => {
    // With and without, as clients differ: the service closes the connection in any case.
    for (const connection of [{}, CLOSE]) {
      const response = await sendThenRead(name, { ...request, headers: { ...request.headers, ...connection } });
      expect(response).toMatchObject({
        status,
        head: expect.stringMatching(/\r\nconnection: close(\r\n|$)/i) as string,
      });
    }
  });

  test('500 of a service without an API key', async () => {
    service.setConfig({ API_KEY: undefined });
    const response = await sendThenRead('addPriceLists', { headers: { ...KEY, ...CLOSE } });
    expect(response).toMatchObject({ status: 500, body: '{"error":"API key is not configured"}' });
  });
});

/** Collects what a socket receives, from now on. */
function collect(socket: Socket): { received: () => string; closed: Promise<unknown> } {
  let received = '';
  socket.on('data', (bytes: Buffer) => (received += bytes.toString()));
  socket.on('error', () => undefined);
  socket.resume();
  return { received: () => received, closed: new Promise((resolve) => socket.once('close', resolve)) };
}

describe('a client with a wrong API key that declares 100 MB gets its response at once, and', () => {
  test('may send about 32 MiB before the connection closes', async () => {
    const socket = await openRaw('addPriceLists', { headers: WRONG_KEY, bodyBytes: 100 * MB });
    const { received, closed } = collect(socket);
    await waitFor(() => received().includes('{"error":"Unauthorized"}'));
    let sentBytes = 0;
    const piece = Buffer.alloc(64 * 1024);
    const send = () => {
      if (socket.destroyed || sentBytes >= 100 * MB) return;
      socket.write(piece, (error) => {
        if (error) return;
        sentBytes += piece.length;
        send();
      });
    };
    send();
    await closed;
    expect(sentBytes).toBeGreaterThan(31 * MIB);
    // Beyond the bound only what the operating system buffers.
    expect(sentBytes).toBeLessThan(48 * MIB);
    await waitFor(() => service.log.length > 0);
    expect(service.log).toMatchObject([{ status: 401 }]);
    expect(service.log[0]).not.toHaveProperty('client_gone');
  });

  test('may take 5 s before the connection closes', async () => {
    const socket = await openRaw('addPriceLists', { headers: WRONG_KEY, bodyBytes: 100 * MB });
    const { received, closed } = collect(socket);
    await waitFor(() => received().includes('{"error":"Unauthorized"}'));
    const startedAt = performance.now();
    await closed;
    expect(performance.now() - startedAt).toBeGreaterThan(3_000);
  }, 60_000);
});

const hasProgram = (program: string) => runProgramSync(program, ['--version']).status === 0;

/** Runs a client outside this process, which is the server. */
async function run(program: string, args: readonly string[], input = ''): Promise<string> {
  const child = startProgramWithInput(program, args, input);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return output || errors;
}

const PYTHON_CLIENT = `
import http.client, sys, urllib.error, urllib.request
address, body = sys.argv[1], b' ' * 8_000_000
headers = {'x-api-key': 'wrong', 'content-type': 'application/json'}
for _ in range(3):
    try:
        urllib.request.urlopen(urllib.request.Request(f'http://{address}/', body, headers))
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
    connection = http.client.HTTPConnection(address)
    connection.request('POST', '/', body, headers)
    response = connection.getresponse()
    print(response.status, response.read().decode())
`;

const UNAUTHORIZED = '401 {"error":"Unauthorized"}';

describe.each(postOperationNames)('401 of %s with 8 MB is read by', (name) => {
  const address = () => `127.0.0.1:${service.port(name)}`;

  // Only where Python is: the raw client above does the same everywhere.
  (hasProgram('python3') ? test : test.skip)('urllib and http.client of Python', async () => {
    const lines = (await run('python3', ['-c', PYTHON_CLIENT, address()])).trim().split('\n');
    expect(lines).toEqual(Array.from({ length: 6 }, () => UNAUTHORIZED));
  });

  // Only where curl is.
  (hasProgram('curl') ? test : test.skip)('curl, also without waiting for 100 Continue', async () => {
    const body = ['--data-binary', '@-', '-H', 'content-type: application/json'];
    for (const expectation of ['Expect:', 'Expect: 100-continue']) {
      const args = ['-sS', '-w', ' %{http_code}', '-H', 'x-api-key: wrong', '-H', expectation, ...body];
      expect(await run('curl', [...args, `http://${address()}/`], ' '.repeat(8 * MB))).toBe(
        '{"error":"Unauthorized"} 401',
      );
    }
  });

  test('fetch of Node', async () => {
    const program = `
      const headers = { 'x-api-key': 'wrong', 'content-type': 'application/json' };
      const body = ' '.repeat(8_000_000);
      fetch('http://${address()}/', { method: 'POST', headers, body }).then(async (response) =>
        console.log(response.status, await response.text()));`;
    expect((await run(process.execPath, ['-e', program])).trim()).toBe(UNAUTHORIZED);
  });
});

const PYTHON_KEY_CLIENT = `
import http.client, sys
for key in ('schl\\u00fcssel', 'schl\\u00fcssel'.encode('utf-8'), 'schlussel'):
    connection = http.client.HTTPConnection(sys.argv[1])
    connection.request('GET', '/', headers={'x-api-key': key})
    print(connection.getresponse().status)
`;

describe('an API key with characters beyond ASCII is accepted', () => {
  beforeEach(() => service.setConfig({ API_KEY: 'schlüssel\n열쇠' }));
  const address = () => `127.0.0.1:${service.port('getTeams')}`;

  test('from fetch of Node, as Latin-1', async () => {
    const response = await fetch(`http://${address()}/`, { headers: { 'x-api-key': 'schlüssel' } });
    expect(response.status).toBe(200);
  });

  // Only where curl is.
  (hasProgram('curl') ? test : test.skip)('from curl, as UTF-8', async () => {
    for (const [key, status] of [
      ['schlüssel', '200'],
      ['열쇠', '200'],
      ['schlussel', '401'],
    ] as const) {
      const args = ['-s', '-o', '/dev/null', '-w', '%{http_code}', '-H', `x-api-key: ${key}`];
      expect(await run('curl', [...args, `http://${address()}/`])).toBe(status);
    }
  });

  // Only where Python is.
  (hasProgram('python3') ? test : test.skip)('from Python, as Latin-1 and as UTF-8', async () => {
    expect((await run('python3', ['-c', PYTHON_KEY_CLIENT, address()])).trim().split('\n')).toEqual([
      '200',
      '200',
      '401',
    ]);
  });
});
