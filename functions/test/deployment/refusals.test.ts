import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { sendRequest } from '../../../dev/run/http';
import { waitFor } from '../../../test/harness/wait-for';
import { getLogged, startDeployedPackage, type DeployedPackage } from '../../../test/harness/deployed-package';

let deployed: DeployedPackage;
beforeAll(async () => {
  deployed = await startDeployedPackage();
});
afterAll(() => deployed.close());

/**
 * Sends 8 MB with a pause of 1 s in the middle. Reads only after the last byte, as Python's standard library does.
 * @returns the status line
 */
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

test('an upload with a wrong API key and a pause of 1 s gets its 401, even while the instance is stopping', async () => {
  const started = await deployed.start('addPriceLists');
  const uploaded = upload(started.port);
  await waitFor(() => getLogged(started, 'request').length === 1);
  await delay(200);
  expect(await started.stop()).toBe(0);
  expect(await uploaded).toBe('HTTP/1.1 401 Unauthorized');
  expect(getLogged(started, 'instance_stopped')).toMatchObject([{ severity: 'INFO', unanswered: 0 }]);
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

// The test uses get warehouses, because no other operation has preflights.
test('no header makes a log line as long as 4 KiB or adds a control character to it', async () => {
  const started = await deployed.start('getWarehouses');
  const requests = HOSTILE_HEADERS.flatMap(([header, value]) =>
    ['OPTIONS', 'GET', 'POST'].map((method) => ({ method, headers: { origin: 'https://a.example', [header]: value } })),
  );
  for (const request of requests) await sendRequest(started.port, request);
  await waitFor(() => getLogged(started, 'request').length === requests.length);
  for (const line of started.output) {
    expect(Buffer.byteLength(line)).toBeLessThan(4_096);
    expect(line).toMatch(/^[ -~]*$/);
  }
});

test('a starting instance logs the line number of each invalid line of the API key setting, and no text of the setting', async () => {
  const started = await deployed.start('getOrdersByTeam', { API_KEY: '# Acme GmbH\ngood-key\nbad key\n\nbad:key\n' });
  expect(getLogged(started, 'api_key_lines_ignored')).toMatchObject([{ severity: 'ERROR', lines: [3, 5] }]);
  expect(started.output.join()).not.toMatch(/bad|Acme|good-key/);
});
