import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { createCheckout, editFile } from '../support/checkout';
import {
  call,
  cleanUp,
  createFirestoreClient,
  startLocalServer,
  toDevCommand,
  type LocalServer,
} from '../support/local-server';
import { connectDebugger, findOriginalPosition } from './debugger';

/** `npm run dev`: saved source files are live at once, and everything else stays. */

jest.setTimeout(180_000);
afterAll(cleanUp);

const ERRORS = 'functions/src/lib/errors.ts';
const TEAMS = 'functions/src/get-teams.ts';
const MESSAGE = "'Unauthorized'";
const headers = { 'x-api-key': 'local-dev-key' };

const getError = async (local: LocalServer) =>
  (JSON.parse((await call(local.address('getTeams'))).text) as { error: string }).error;

async function waitFor(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('npm run dev', () => {
  const folder = createCheckout();
  let local: LocalServer;
  let startMs: number;
  beforeAll(async () => {
    const startedAt = performance.now();
    local = await startLocalServer({ API_KEY: undefined }, toDevCommand(), folder);
    startMs = performance.now() - startedAt;
  });

  test('serves the functions, the pages and the addresses of both', async () => {
    expect((await call(local.address('getTeams'), { headers })).status).toBe(200);
    expect((await call(new URL('/', local.address('getTeams')).href)).text).toContain('<!doctype html>');
    const { status, text } = await call(new URL('/nothing', local.address('getTeams')).href);
    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({ addresses: { getTeams: local.address('getTeams') } });
  });

  test('a saved file is live in less time than a start takes, each time, and the data stays', async () => {
    const db = createFirestoreClient(local.firestoreAddress);
    await db.doc('teams/team-mine').set({ name: 'Mine', country_iso: 'FRA' });
    let before = MESSAGE;
    const delays: number[] = [];
    for (const text of ['First', 'Second', 'Third']) {
      editFile(join(folder, ERRORS), before, `'${text}'`);
      const savedAt = performance.now();
      await waitFor(async () => (await getError(local)) === text);
      delays.push(performance.now() - savedAt);
      before = `'${text}'`;
    }
    editFile(join(folder, ERRORS), before, MESSAGE);
    await waitFor(async () => (await getError(local)) === 'Unauthorized');
    // Half a second where a start takes twice that; on a busy machine both take longer.
    expect(Math.min(...delays)).toBeLessThan(startMs);
    expect((await call(local.address('getTeams'), { headers })).text).toContain('team-mine');
    await db.terminate();
  });

  test('a request that is open during a reload finishes with the build that began it', async () => {
    const { port, pathname } = new URL(local.address('getOrdersByTeam'));
    const body = '{}';
    const socket = createConnection({ host: '127.0.0.1', port: Number(port) });
    let received = '';
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    const head = [
      `POST ${pathname} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Connection: close',
      'x-api-key: local-dev-key',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n{`);
    // The build that serves now has the head of the request, and waits for the rest of its body.
    await new Promise((resolve) => setTimeout(resolve, 200));

    editFile(join(folder, ERRORS), "'Payload is invalid'", "'Invalid since the reload'");
    const orders = () => call(local.address('getOrdersByTeam'), { method: 'POST', headers, body: '{}' });
    await waitFor(async () => (await orders()).text.includes('Invalid since the reload'));
    socket.write('}');
    await closed;
    expect(received).toContain('"Payload is invalid"');
    editFile(join(folder, ERRORS), "'Invalid since the reload'", "'Payload is invalid'");
  });

  test('a file that does not compile, or throws while it is loaded, is reported and changes nothing', async () => {
    const { output } = local;
    const original = readFileSync(join(folder, TEAMS), 'utf8');
    editFile(join(folder, TEAMS), original, 'export const getTeams = (;');
    await waitFor(() => /could not be built[^]*get-teams\.ts:1:25/.test(output.stderr));
    expect(await getError(local)).toBe('Unauthorized');

    editFile(join(folder, TEAMS), 'export const getTeams = (;', "throw new Error('not today');");
    await waitFor(() => /could not be loaded[^]*not today/.test(output.stderr));
    expect(output.stderr).toMatch(/functions\/src\/get-teams\.ts:1/);
    expect(await getError(local)).toBe('Unauthorized');

    const reloads = output.stdout.split('Reloaded in').length;
    editFile(join(folder, TEAMS), "throw new Error('not today');", original);
    await waitFor(() => output.stdout.split('Reloaded in').length > reloads);
    expect((await call(local.address('getTeams'), { headers })).status).toBe(200);
  });

  test('an uncaught error of a handler is reported, and the next save starts the functions again', async () => {
    editFile(
      join(folder, TEAMS),
      'handler:',
      "bodyless: setTimeout(() => { throw new Error('too late'); }, 300), handler:",
    );
    await waitFor(async () => (await call(local.address('getTeams'), { headers })).status === 503);
    expect(local.output.stderr).toContain('too late');
    editFile(
      join(folder, TEAMS),
      "bodyless: setTimeout(() => { throw new Error('too late'); }, 300), handler:",
      'handler:',
    );
    await waitFor(async () => (await call(local.address('getTeams'), { headers })).status === 200);
  });

  test('log lines are JSON with a time, and Ctrl-C stops everything', async () => {
    // One save may be two builds, and the first of them, which fails late, may have ended the wait of the test before.
    const request = { headers: { ...headers, 'x-request-id': 'logged-once' } };
    await waitFor(async () => (await call(local.address('getTeams'), request)).status === 200);
    await waitFor(() => local.output.stdout.includes('logged-once'));
    const lines = local.output.stdout.split('\n').filter((line) => line.includes('logged-once'));
    expect(lines).toHaveLength(1);
    const { time, status } = JSON.parse(lines[0] ?? '') as { time: string; status: number };
    expect({ time: new Date(time).toISOString(), status }).toEqual({ time, status: 200 });
    expect(await local.stop()).toMatchObject({ code: 0, signal: null });
  });
});

test('with --inspect, a debugger stops in the source file of a reloaded build', async () => {
  const folder = createCheckout();
  const local = await startLocalServer({}, toDevCommand('--inspect=127.0.0.1:0'), folder);
  const client = await connectDebugger(local.output);
  const source = join(folder, TEAMS);
  editFile(source, 'export const', 'globalThis.inspected = () => {\n  debugger;\n};\nexport const');
  editFile(source, 'handler: (context) =>', 'handler: (context) => globalThis.inspected() ??');
  await waitFor(() => local.output.stdout.includes('Reloaded in'));

  const paused = client.next('Debugger.paused');
  const response = call(local.address('getTeams'), { headers: { 'x-api-key': 'local-dev-key' } });
  expect(findOriginalPosition(client, await paused)).toMatchObject({
    file: expect.stringMatching(/functions\/src\/get-teams\.ts$/) as string,
    text: '  debugger;',
  });
  await client.send('Debugger.resume');
  expect((await response).status).toBe(200);
  client.close();
  await local.stop();
});
