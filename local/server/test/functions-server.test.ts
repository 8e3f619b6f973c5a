import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadFunctions } from '../load-functions';
import { startFunctionsServer, type FunctionsServer, type FunctionsServerOptions } from '../functions-server';
import { call, cleanUp, temporaryFolder } from '../../../test/support/local-server';

/** The host on its own, with a bundle made here: whatever a bundle exports is served. */

const BUNDLE = `
  const deployable = (region, handler) => Object.assign(handler, { __endpoint: { region: [region] } });
  exports.echo = deployable('us-central1', (request, response) => response.json({ url: request.url }));
  exports.never = deployable('europe-west1', () => undefined);
`;

const hosts = new Set<FunctionsServer>();
afterEach(() => Promise.all([...hosts].map((host) => close(host, 0))));
afterAll(cleanUp);

async function host(options: Partial<FunctionsServerOptions> = {}): Promise<FunctionsServer> {
  const bundle = temporaryFolder();
  writeFileSync(join(bundle, 'index.cjs'), BUNDLE);
  writeFileSync(join(bundle, 'package.json'), JSON.stringify({ main: 'index.cjs' }));
  const functions = await startFunctionsServer({
    port: 0,
    project: 'demo',
    functions: loadFunctions(bundle),
    ...options,
  });
  hosts.add(functions);
  return functions;
}

async function close(host: FunctionsServer, graceMs: number): Promise<void> {
  hosts.delete(host);
  await host.close(graceMs);
}

const addressOf = ({ addresses }: FunctionsServer, name: string): string => {
  const address = addresses.get(name);
  if (address === undefined) throw new Error(`${name} is not served`);
  return address;
};

test('every export of the bundle is served in its own region', async () => {
  const { origin, addresses } = await host();
  expect(Object.fromEntries(addresses)).toEqual({
    echo: `${origin}/demo/us-central1/echo`,
    never: `${origin}/demo/europe-west1/never`,
  });
});

test('a function is at the root of its address, and gets the query', async () => {
  const functions = await host();
  const { text } = await call(`${addressOf(functions, 'echo')}?a=1&b=?`);
  expect(JSON.parse(text)).toMatchObject({ url: '/?a=1&b=?' });
});

test.each(['/', '/demo/us-central1/echo/more', '/demo/us-central1/never'])(
  'at %s is nothing, and the response says where something is',
  async (path) => {
    const { origin, addresses } = await host();
    const { status, headers, text } = await call(origin + path);
    expect(status).toBe(404);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(JSON.parse(text)).toEqual({ error: 'Not found', addresses: Object.fromEntries(addresses) });
  },
);

test('at an unknown address a browser gets a page that leads on', async () => {
  const { origin } = await host();
  const { status, headers, text } = await call(`${origin}/nowhere`, {
    headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
  });
  expect(status).toBe(404);
  expect(headers.get('content-type')).toMatch(/^text\/html/);
  expect([...text.matchAll(/<a href="(.*?)"/g)].map(([, href]) => href)).toEqual(['/', '/data', '/', '/data']);
});

test('pages are served beside the functions, and only at their own paths', async () => {
  const extraRoutes = new Map([
    ['/', (_: unknown, response: { end: (text: string) => void }) => response.end('a page')],
  ]);
  const functions = await host({ getExtraRoute: (path) => extraRoutes.get(path) });
  expect((await call(`${functions.origin}/?x`)).text).toBe('a page');
  expect((await call(addressOf(functions, 'echo'))).status).toBe(200);
  expect((await call(`${functions.origin}/other`)).status).toBe(404);
});

test('breaks off a request that takes too long when it closes', async () => {
  const functions = await host();
  const never = call(addressOf(functions, 'never')).then(
    () => 'complete',
    () => 'broken off',
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  const startedAt = performance.now();
  await close(functions, 200);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(195);
  expect(await never).toBe('broken off');
});
