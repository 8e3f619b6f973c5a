import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { sendRequest } from '../../../scripts/harness/http';
import { waitFor } from '../support/wait-for';
import { DEPLOY_PACKAGE, startDeployedFunction, type DeployedFunction } from '../../../scripts/harness/deployed';

const SETTINGS = { API_KEY: 'test-key-1', METADATA_SERVER_DETECTION: 'none' };

let deployed: DeployedFunction;
afterEach(() => deployed.stop());

const start = async (name: string, settings: Partial<typeof SETTINGS> = {}) =>
  (deployed = await startDeployedFunction(DEPLOY_PACKAGE, name, { ...SETTINGS, ...settings }));

const getRequestLines = () => deployed.output.filter((line) => line.includes('"event":"request"'));

/** Sends 8 MB with a pause of 1 s in the middle, then reads, as Python's standard library does. @returns the status line */
async function upload(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1').pause();
  socket.write('POST / HTTP/1.1\r\nHost: service\r\nx-api-key: wrong\r\nContent-Length: 8000000\r\n\r\n');
  const send = () =>
    new Promise((resolve, reject) =>
      socket.write(Buffer.alloc(4_000_000), (e) => (e ? reject(e) : resolve(undefined))),
    );
  await send();
  await delay(1_000);
  await send();
  const [head] = (await once(socket.resume(), 'data')) as [Buffer];
  socket.destroy();
  return head.toString().split('\r\n')[0] ?? '';
}

test('an upload with a pause gets its 401, while the instance is stopping', async () => {
  const { port } = await start('addPriceLists');
  const uploaded = upload(port);
  await waitFor(() => getRequestLines().length === 1);
  await delay(200);
  expect(await deployed.stop()).toBe(0);
  expect(await uploaded).toBe('HTTP/1.1 401 Unauthorized');
  const [stopped] = deployed.output.filter((line) => line.includes('"event":"instance_stopped"'));
  expect(JSON.parse(stopped ?? '')).toMatchObject({ severity: 'INFO', unanswered: 0 });
});

const LONG = 'x'.repeat(12_000);
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

const HOSTILE_HEADERS = [
  ['function-execution-id', LONG],
  ['x-cloud-trace-context', `${'a'.repeat(6_000)}/${'1'.repeat(6_000)}`],
  ['x-cloud-trace-context', `${TRACE}/${'1'.repeat(12_000)}`],
  ['traceparent', `00-${TRACE}-00f067aa0ba902b7-01${LONG}`],
  ['x-request-id', LONG],
  ['origin', LONG],
  ['origin', '\x80\x9b'.repeat(6_000)],
  ['user-agent', LONG],
  ['x-forwarded-for', LONG],
  ['x-api-key', LONG],
  ['access-control-request-headers', LONG],
  ['content-type', LONG],
] as const;

// Get warehouses is the only operation that has preflights.
test('no header makes a log line long or adds a control character', async () => {
  const { port, output } = await start('getWarehouses');
  const requests = HOSTILE_HEADERS.flatMap(([header, value]) =>
    ['OPTIONS', 'GET', 'POST'].map((method) => ({ method, headers: { origin: 'https://a.example', [header]: value } })),
  );
  for (const request of requests) await sendRequest(port, request);
  await waitFor(() => getRequestLines().length === requests.length);
  for (const line of output) {
    expect(Buffer.byteLength(line)).toBeLessThan(4_096);
    expect(line).toMatch(/^[ -~]*$/);
  }
});

test('an instance logs the number of each invalid line of the API key setting, and no text of the setting', async () => {
  const { output } = await start('getOrdersByTeam', { API_KEY: '# Acme GmbH\ngood-key\nbad key\n' });
  const lines = output.filter((line) => line.includes('"event":"api_key_lines_ignored"'));
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ severity: 'ERROR', lines: [3] }]);
  expect(output.join()).not.toMatch(/bad|Acme|good-key/);
});
