import { setTimeout as delay } from 'node:timers/promises';
import { runProgram } from '../../../test/support/programs';
import { sendRequest } from '../support/http';
import { operationNames } from '../support/operations';
import { waitFor } from '../support/wait-for';
import { DEPLOY_PACKAGE, startDeployedFunction, type DeployedFunction } from './deployed';

/**
 * What a caller without an API key can cause in a deployed function, and what it still gets. The
 * rules of an early response and of a body that does not come are proved in ../modules/lib/http.
 */

const SETTINGS = { API_KEY: 'test-key-1', METADATA_SERVER_DETECTION: 'none' };

let deployed: DeployedFunction;
afterEach(() => deployed.stop());

const start = async (name: string, settings: Partial<typeof SETTINGS> = {}) =>
  (deployed = await startDeployedFunction(DEPLOY_PACKAGE, name, { ...SETTINGS, ...settings }));

const getRequestLines = () => deployed.output.filter((line) => line.includes('"event":"request"'));

/** Sends 8 MB with a pause of 1 s, and reads only then. */
const PYTHON_CLIENT = `
import http.client, sys, time
headers = {'Content-Type': 'application/json', 'Content-Length': '8000000', 'x-api-key': 'wrong'}
def body():
    for i in range(80):
        if i == 40:
            print('pause', flush=True)
            time.sleep(1)
        yield b' ' * 100000
connection = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
connection.request('POST', '/', body=body(), headers=headers)
print(connection.getresponse().status)`;

test('Python’s http.client gets the 401 for an upload with a pause, while the instance is stopping', async () => {
  const { port } = await start('addPriceLists');
  const uploaded = runProgram('python3', ['-S', '-c', PYTHON_CLIENT, String(port)]);
  await waitFor(() => getRequestLines().length === 1);
  await delay(200);
  expect(await deployed.stop()).toBe(0);
  expect((await uploaded).stdout).toBe('pause\n401\n');
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

test.each(operationNames)('no header makes a line of %s long, or puts a control character into it', async (name) => {
  const { port, output } = await start(name);
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

test('a line of the setting that is no key is logged by its number, a comment is no key, and other lines work', async () => {
  const { port, output } = await start('getOrdersByTeam', { API_KEY: '# Acme GmbH\ngood-key\nbad key\n' });
  const lines = output.filter((line) => line.includes('"event":"api_key_lines_ignored"'));
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ severity: 'ERROR', lines: [3] }]);
  const call = (key: string) => sendRequest(port, { method: 'POST', headers: { 'x-api-key': key } });
  for (const key of ['# Acme GmbH', 'Acme GmbH', 'bad key', 'bad']) expect((await call(key)).status).toBe(401);
  expect((await call('good-key')).status).toBe(400);
  expect(output.join()).not.toMatch(/bad|Acme|good-key/);
});
