import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import { createPageRoutes } from '../../pages';
import type { Route } from '../../pages/route';
import { loadFunctions } from '../../server/load-functions';
import { startFunctionsServer, type FunctionsServer, type FunctionsServerOptions } from '../../server/functions-server';
import { call, cleanUp, temporaryFolder } from '../../../test/harness/local-server';

/** Tests the server with a bundle that this file writes. */

const BUNDLE = `
  const deployable = (region, handler) => Object.assign(handler, { __endpoint: { region: [region] } });
  exports.echo = deployable('us-central1', (request, response) => response.json({ url: request.url }));
  exports.far = Object.assign(deployable('europe-west1', (_, response) => response.json('far')), { operation: { cors: true } });
`;

const fail = (error: unknown = new Error('Expected')) => {
  throw error;
};

const hosts = new Set<FunctionsServer>();
afterEach(() => Promise.all([...hosts].map((host) => close(host, 0))));
afterAll(cleanUp);

async function host(options: Partial<FunctionsServerOptions> = {}): Promise<FunctionsServer> {
  const bundle = temporaryFolder();
  writeFileSync(join(bundle, 'index.cjs'), BUNDLE);
  writeFileSync(join(bundle, 'package.json'), JSON.stringify({ main: 'index.cjs' }));
  const server = await startFunctionsServer({ port: 0, project: 'demo', functions: loadFunctions(bundle), ...options });
  hosts.add(server);
  return server;
}

async function close(host: FunctionsServer, graceMs: number): Promise<void> {
  hosts.delete(host);
  await host.close(graceMs);
}

test('every export of the bundle is served in its own region', async () => {
  const { origin, addresses } = await host();
  expect(Object.fromEntries(addresses)).toEqual({
    echo: `${origin}/demo/us-central1/echo`,
    far: `${origin}/demo/europe-west1/far`,
  });
  const responses = await Promise.all([...addresses.values()].map((address) => call(address)));
  expect(responses.map(({ text }) => text)).toEqual(['{"url":"/"}', '"far"']);
});

test.each(['/', '/demo/us-central1/echoes', '/demo/us-central1'])(
  'a request for %s gets 404 with the address of each function',
  async (path) => {
    const { origin, addresses } = await host();
    const { status, headers, text } = await call(origin + path);
    expect(status).toBe(404);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(JSON.parse(text)).toEqual({ error: 'Not found', addresses: Object.fromEntries(addresses) });
  },
);

describe('a request', () => {
  /** Sends a GET with exactly the given target. @returns the status and the body of the response */
  async function send(port: string, target: string, host = `127.0.0.1:${port}`): Promise<string> {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    let response = '';
    for await (const bytes of socket.setEncoding('utf8')) response += String(bytes);
    const [head = '', body = ''] = response.split('\r\n\r\n');
    // Removes the lines of a stack.
    return `${head.slice(9, 12)} ${body.replace(/<br> .*/, '')}`;
  }

  const ADDRESS = '/demo/us-central1/echo';

  test.each(['', '/', '//', '/more', '/more/?a=b%2Fc&d', '/favicon.ico', '?a=%zz', '/%zz', '/a%20b'])(
    'with "%s" after the address of a function gets the response of a deployed function',
    async (rest) => {
      const { origin } = await host();
      const deployed = getTestServer('echo').listen(0, '127.0.0.1');
      await once(deployed, 'listening');
      const target = rest.startsWith('/') ? rest : `/${rest}`;
      const expected = await send(String((deployed.address() as AddressInfo).port), target);
      expect(await send(new URL(origin).port, ADDRESS + rest)).toBe(expected);
      deployed.close();
    },
  );

  test.each(['*', '//', '/demo//us-central1/echo', '/%', '/docs/%2e%2e%2fpackage.json'])(
    'for the target %s gets 404',
    async (target) => {
      const { origin } = await host();
      expect(await send(new URL(origin).port, target)).toMatch(/^404 /);
    },
  );

  test('for a path that is too long or has a control character gets 404', async () => {
    const { port } = new URL((await host({ getExtraRoute: createPageRoutes('') })).origin);
    for (const path of [`/${'a'.repeat(300)}`, `/docs/${'a/'.repeat(3_000)}`, '/docs/%00', '/docs/a%0a'])
      expect(await send(port, path)).toMatch(/^404 /);
  });

  test.each<[string, Route]>([
    ['throws', () => fail()],
    ['rejects', () => Promise.reject(new Error('Expected'))],
    ['throws a text instead of an Error', () => fail('text')],
  ])('gets 500 if its listener %s, and the server responds to the next request', async (_, listener) => {
    const printed = jest.spyOn(console, 'error').mockImplementation();
    const { origin } = await host({ getExtraRoute: (path) => (path === '/broken' ? listener : undefined) });
    expect(await send(new URL(origin).port, '/broken')).toMatch(/^500 [^]*{"error":"Internal error"}/);
    expect(printed).toHaveBeenCalledTimes(1);
    expect(await send(new URL(origin).port, ADDRESS)).toMatch(/^200 /);
    printed.mockRestore();
  });

  test('from a page of another site gets 403, unless the function allows CORS', async () => {
    const { origin, addresses } = await host();
    const statuses = (headers: Record<string, string>) =>
      Promise.all(
        [...addresses.values(), `${origin}/nothing`].map(async (url) => (await call(url, { headers })).status),
      );
    expect(await statuses({ 'Sec-Fetch-Site': 'cross-site' })).toEqual([403, 200, 403]);
    for (const site of ['same-origin', 'same-site', 'none'])
      expect(await statuses({ 'Sec-Fetch-Site': site })).toEqual([200, 200, 404]);
  });

  test('for a host other than this machine gets 403', async () => {
    const { port } = new URL((await host()).origin);
    for (const name of ['127.0.0.1', 'localhost', '[::1]', 'LOCALHOST:443'])
      expect(await send(port, ADDRESS, name)).toMatch(/^200 /);
    for (const name of ['rebound.example.com', '', '127.0.0.1.example.com', 'a@b', 'localhost.example.com:5001'])
      expect(await send(port, ADDRESS, name)).toMatch(/^403 /);
  });
});

test('a server that closes breaks off open requests after the given time', async () => {
  const { promise: received, resolve } = Promise.withResolvers();
  const functions = await host({ getExtraRoute: () => resolve });
  const never = call(functions.origin).then(
    () => 'complete',
    () => 'broken off',
  );
  await received;
  const startedAt = performance.now();
  await close(functions, 200);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(195);
  expect(await never).toBe('broken off');
});
