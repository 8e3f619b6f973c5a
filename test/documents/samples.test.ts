import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createClient, HttpError, UnusableListsError, type RequestBody } from '../../docs/examples/client/src';
import { cleanUp, startLocalServer, temporaryFolder } from '../harness/local-server';
import { runProgram, runProgramSync, type Variables } from '../../dev/run/programs';
import { respond, startStub } from '../harness/stub-service';

/** Tests that the samples in bash and Python and the typed client do what docs/integration-guide.md says, even if a server misbehaves. */

const KEY = 'local-dev-key';
const PAYLOAD = 'docs/examples/price-list.json';
/** A private key, and its certificate, which the samples do not trust. */
const CERTIFICATE = readFileSync('test/harness/firestore-tls.pem');
const PYTHON = process.env['PYTHON'] ?? 'python3';

interface Call {
  baseUrl: string;
  file?: string;
  options?: string[];
  retrySeconds?: number | string;
  requestSeconds?: number | string;
  /** A redirection of stdout in the shell, or a pipe. */
  stdout?: string;
  env?: Variables;
}

interface Outcome {
  code: number;
  output: string;
}

type Run = (call: Call) => Promise<Outcome>;

const createRun =
  (...program: string[]): Run =>
  async ({ baseUrl, file = PAYLOAD, options = [], retrySeconds = 60, requestSeconds = 60, stdout, env }) => {
    const variables = {
      BASE_URL: baseUrl,
      API_KEY: KEY,
      RETRY_SECONDS: `${retrySeconds}`,
      REQUEST_SECONDS: `${requestSeconds}`,
    };
    const command = ['-c', `"$@" ${stdout ?? ''}`, 'bash', ...program, ...options, file];
    try {
      const { stdout, stderr } = await runProgram('bash', command, { env: { ...variables, ...env } });
      return { code: 0, output: stdout + stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
      return { code: Number(code), output: stdout + stderr };
    }
  };

/** Calls the client, and gives each outcome the exit code that the programs have for it. */
const runClient: Run = async ({ baseUrl, file = PAYLOAD, options = [], retrySeconds = 60, requestSeconds = 60 }) => {
  const body = JSON.parse(readFileSync(file, 'utf8')) as RequestBody<'addPriceLists'>;
  const lines: string[] = [];
  try {
    const client = createClient(baseUrl, KEY, {
      retryForMs: Number(retrySeconds) * 1000,
      requestTimeoutMs: Number(requestSeconds) * 1000,
      onRetry: ({ message }) => lines.push(message),
    });
    await client.addPriceLists(body, { allowOtherCurrency: options.length > 0 });
    return { code: 0, output: lines.join('\n') };
  } catch (error) {
    return { code: toExitCode(error as Error), output: [...lines, (error as Error).message].join('\n') };
  }
};

function toExitCode(error: Error & { code?: unknown }): number {
  if (error instanceof UnusableListsError && Object.hasOwn(Object(error.cause) as object, 'price_list')) return 1;
  if (!(error instanceof HttpError)) return /^Z_|TOO_LARGE|EXCEEDED/.test(String(error.code)) ? 3 : 64;
  if (error.status < 300) return 3;
  const { error: text = '' } = Object(error.body) as { error?: string };
  return [408, 429].includes(error.status) || error.status >= 500 || text.includes('requires review') ? 2 : 1;
}

const samples = {
  bash: {
    run: createRun('bash', 'docs/examples/add-price-list.sh'),
    probe: ['bash', '-c', 'curl --version && jq --version'],
  },
  Python: {
    run: createRun(PYTHON, 'docs/examples/add-price-list.py'),
    probe: [PYTHON, '-c', 'import requests, tenacity'],
  },
  TypeScript: { run: runClient, probe: [process.execPath, '--version'] },
};

const READY = { status: 'ready', currency: 'KES' };
const createResponse = (changes: object = {}) =>
  JSON.stringify({
    ...{ success: true, message: '', products_count: 12, document_id: 'id', market: { id: 'mkt-ken' } },
    ...{ expected_forward_cost: READY, price_list: READY, ...changes },
  });
const CREATED = createResponse();
const IN_PROGRESS = '{"error":"Request is already being processed or requires review"}';
const NOT_CREATED = '{"error":"Price lists could not be created; the request requires review"}';

const created = respond(200, CREATED);
const busy = (retryAfter: string) => respond(503, 'busy', { 'Retry-After': retryAfter });
const drop: RequestListener = (_, response) => void response.destroy();
const hang: RequestListener = () => undefined;
/** Begins a response, and then sends a byte every 100 ms without end. */
const drip =
  (start: string): RequestListener =>
  ({ socket }) => {
    socket.write(start);
    const timer = setInterval(() => socket.write('a'), 100);
    socket.once('close', () => clearInterval(timer));
  };
/** A gzip body of 300 members, each of which inflates to 1 MiB. */
const bomb = Buffer.concat(Array(300).fill(gzipSync(Buffer.alloc(1024 ** 2))) as Buffer[]);

/** Title, responses of the server (418 to further requests), exit code, changes to the call, and the minimum duration of the call in seconds. */
const oddServers: [string, RequestListener[], number, Partial<Call>?, number?][] = [
  ['Retry-After: 0', [busy('0'), created], 0, {}, 0.9],
  ['a Retry-After in the past', [busy(new Date(0).toUTCString()), created], 0, {}, 0.9],
  ['Retry-After: 1.5', [busy('1.5'), created], 0, {}, 0.9],
  ['Retry-After: 08', [busy('08'), created], 0, {}, 7.9],
  ['a Retry-After that is longer than the time left', [busy('86400')], 2, { retrySeconds: 1_000 }],
  ['a transient error without end', Array<RequestListener>(9).fill(busy('0')), 2, { retrySeconds: 4 }, 0.9],
  ['409 with Retry-After', [respond(409, IN_PROGRESS, { 'Retry-After': '0' }), created], 0, {}, 0.9],
  ['500 with Retry-After', [respond(500, NOT_CREATED, { 'Retry-After': '0' }), created], 0, {}, 0.9],
  ['409 without Retry-After', [respond(409, IN_PROGRESS)], 2],
  ['500, then 409, without Retry-After', [respond(500, NOT_CREATED), respond(409, IN_PROGRESS)], 2],
  ['an undefined status, 418', [respond(418, '{"error":"Teapot"}')], 1],
  ['an HTML 404', [respond(404, '<html>')], 1],
  ['an HTML 200', [respond(200, '<html>Sign in</html>')], 3],
  ['a 200 with other JSON', [respond(200, '{"status":"ok"}')], 3],
  ['an empty 200', [respond(200, '')], 3],
  ['a 204', [respond(204, '')], 3],
  ['a 202 with the body of a success and Retry-After', [respond(202, CREATED, { 'Retry-After': '0' })], 3],
  ['a 200 without success', [respond(200, createResponse({ success: false }))], 3],
  ['a 200 with another number of products', [respond(200, createResponse({ products_count: 11 }))], 3],
  [
    'a 200 with a list that is not ready',
    [respond(200, createResponse({ price_list: { ...READY, status: 'failed' } }))],
    3,
  ],
  ['a 200 with only one of both lists', [respond(200, createResponse({ expected_forward_cost: null }))], 3],
  ['deep JSON', [respond(200, '['.repeat(100_000) + ']'.repeat(100_000))], 3],
  ['a gzip bomb', [(_, response) => void response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(bomb)], 3],
  ['control characters', [respond(400, '{"error":"\u001b[31mred\u009b31m\u0007"}')], 1],
  ['a dropped connection', [drop, created], 0, {}, 0.9],
  [
    'a response that is cut',
    [respond(200, '{"success":', { 'Content-Length': '80', Connection: 'close' }), created],
    0,
  ],
  ['no response in time', [hang, created], 0, { requestSeconds: 1 }],
  ['headers without end', [drip('HTTP/1.1 200 OK\r\nX-Request-Id: '), created], 0, { requestSeconds: 1 }],
  ['a body without end', [drip('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n'), created], 0, { requestSeconds: 1 }],
];

let baseUrl: string;
beforeAll(async () => {
  baseUrl = (await startLocalServer({ API_KEY: KEY, SAMPLE_DATA: 'true' })).address('');
});
afterAll(cleanUp);

/** Writes the sample list with a new key and these values of `info`. @returns the file */
function writePayload(info: Record<string, string>): string {
  const example = JSON.parse(readFileSync(PAYLOAD, 'utf8')) as { info: object };
  const file = join(temporaryFolder(), 'payload.json');
  writeFileSync(
    file,
    JSON.stringify({ ...example, info: { ...example.info, boq_list_id: `id-${Math.random()}`, ...info } }),
  );
  return file;
}

test('the bash sample, called as in docs/integration-guide.md, creates the lists of docs/examples/price-list.json', async () => {
  const guide = readFileSync('docs/integration-guide.md', 'utf8');
  const [, , call = ''] = /```bash\n(export BASE_URL.*)\n(bash examples.*)\n/.exec(guide) ?? [];
  const env = { BASE_URL: baseUrl, API_KEY: KEY };
  const { stdout, stderr } = await runProgram('bash', ['-c', call], { cwd: 'docs', env });
  expect(JSON.parse(stdout)).toMatchObject({ products_count: 12, price_list: { status: 'ready' } });
  expect(stderr).toBe('');
});

describe.each(Object.entries(samples))('the sample in %s', (name, { run, probe: [program = '', ...args] }) => {
  const isMissing = runProgramSync(program, args).status !== 0;
  // If a program or a Python package is missing, the titles of the tests that are skipped say so.
  const because = isMissing ? ` (skipped: "${[program, ...args].join(' ')}" fails on this machine)` : '';
  const tested = isMissing ? test.skip : test;
  const testedInParallel = isMissing ? test.skip : test.concurrent;

  testedInParallel.each(oddServers)(
    `gives the right exit code after %s${because}`,
    async (_, responses, code, call = {}, minSeconds = 0) => {
      const stub = await startStub([...responses]);
      const startedAt = performance.now();
      const outcome = await run({ baseUrl: stub.url, ...call });
      expect(outcome).toMatchObject({ code });
      expect(outcome.output).not.toMatch(/Traceback|(?!\n)\p{Cc}/u);
      if (code !== 2) expect(stub.bodies.length).toBe(responses.length);
      for (const body of stub.bodies) expect(body.equals(stub.bodies[0] ?? Buffer.of())).toBe(true);
      expect(performance.now() - startedAt).toBeGreaterThan(minSeconds * 1000);
    },
  );

  tested(`an address with braces and brackets gets one request${because}`, async () => {
    const stub = await startStub([created, created]);
    expect(await run({ baseUrl: `${stub.url}/{a,b}/[1-3]` })).toMatchObject({ code: 0 });
    expect(stub.bodies).toHaveLength(1);
  });

  tested(`a redirect is not followed, so the API key stays with the service${because}`, async () => {
    const other = await startStub([created]);
    const stub = await startStub([respond(307, '', { Location: `${other.url}/addPriceLists` })]);
    expect((await run({ baseUrl: stub.url })).code).toBe(1);
    expect(other.bodies).toEqual([]);
  });

  tested(`an unverified certificate and a port that cannot exist give exit code 64${because}`, async () => {
    const server = createServer({ key: CERTIFICATE, cert: CERTIFICATE }, created);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    expect((await run({ baseUrl: `https://127.0.0.1:${port}` })).code).toBe(64);
    server.close();
    expect((await run({ baseUrl: 'http://127.0.0.1:99999' })).code).toBe(64);
  });

  tested(
    `an unknown market gives exit code 1, and so does a different currency, unless it is allowed${because}`,
    async () => {
      const noMarket = await run({ baseUrl, file: writePayload({ market_id: 'mkt-nowhere' }) });
      expect(noMarket).toEqual({ code: 1, output: expect.stringContaining('no market has the market_id') as string });
      const file = writePayload({ currency_iso: 'usd', name: 'Жёлтый "currency_iso":"KES" \\' });
      const stored = expect.stringMatching(/stored as KES, the currency of the market, not as USD/) as string;
      expect(await run({ baseUrl, file })).toEqual({ code: 1, output: stored });
      expect(await run({ baseUrl, file, options: ['--allow-other-currency'] })).toMatchObject({ code: 0 });
      expect(await run({ baseUrl, file: writePayload({ currency_iso: 'kes' }) })).toMatchObject({ code: 0 });
    },
  );

  // The client in TypeScript is a library, and the tests below are only for programs.
  if (name === 'TypeScript') return;

  tested(`a file in which an identifier occurs twice gives exit code 1, and is not sent${because}`, async () => {
    const file = join(temporaryFolder(), 'duplicate.json');
    const example = readFileSync(PAYLOAD, 'utf8');
    writeFileSync(file, example.replace('CEM-OPC-32R-50KG', 'CEM-OPC-32R-25KG'));
    const stub = await startStub([created]);
    const twice = expect.stringMatching(/Correct it first: .* occurs twice/) as string;
    expect(await run({ baseUrl: stub.url, file })).toEqual({ code: 1, output: twice });
    expect(stub.bodies).toEqual([]);
  });

  tested(`a response that cannot be printed gives exit code 3${because}`, async () => {
    for (const stdout of ['>/dev/full', '>&-', '| true; exit "${PIPESTATUS[0]}"']) {
      const stub = await startStub([created]);
      expect([stdout, await run({ baseUrl: stub.url, stdout })]).toMatchObject([stdout, { code: 3 }]);
    }
  });

  tested(`a response that comes before the whole body is sent is read${because}`, async () => {
    const file = join(temporaryFolder(), 'large.json');
    writeFileSync(file, Buffer.alloc(64 * 1024 ** 2, 'a'));
    expect(await run({ baseUrl, file })).toMatchObject({ code: 1, output: expect.stringContaining('413 ') as string });
    const wrongKey = await run({ baseUrl, file, env: { API_KEY: 'wrong' } });
    expect(wrongKey).toMatchObject({ code: 1, output: expect.stringContaining('401 ') as string });
  });

  tested(`settings of the user do not change what the program does${because}`, async () => {
    const home = temporaryFolder();
    writeFileSync(join(home, '.curlrc'), 'request = PUT\n');
    writeFileSync(join(home, '.netrc'), 'machine 127.0.0.1 login a password b\n');
    writeFileSync(join(home, '.jq'), 'def has(name): false;');
    const settings = { HOME: home, CURL_HOME: home, XDG_CONFIG_HOME: home, NETRC: join(home, '.netrc') };
    const shell = {
      SHELLOPTS: 'errexit:noclobber:xtrace:verbose:noglob',
      BASHOPTS: 'nocasematch',
      POSIXLY_CORRECT: '1',
    };
    const env = { ...settings, ...shell, CDPATH: '/', IFS: '0', SECONDS: '1000', PYTHONIOENCODING: 'ascii:strict' };
    const sent: unknown[] = [];
    const record =
      (next: RequestListener): RequestListener =>
      (request, response) => {
        sent.push([request.method, request.headers.authorization]);
        next(request, response);
      };
    const stub = await startStub([record(respond(500, '')), record(drop), record(created)]);
    const { code, output } = await run({ baseUrl: stub.url, env });
    expect([code, output]).toEqual([0, expect.not.stringContaining(KEY)]);
    expect(sent).toEqual(Array(3).fill(['POST', undefined]));
  });

  tested(`a missing file of certificates gives exit code 64${because}`, async () => {
    const server = createServer({ key: CERTIFICATE, cert: CERTIFICATE }, created);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const env = { CURL_CA_BUNDLE: '/nowhere', REQUESTS_CA_BUNDLE: '/nowhere' };
    expect(await run({ baseUrl: `https://127.0.0.1:${port}`, env })).toMatchObject({ code: 64 });
    server.close();
  });

  tested(`a file that cannot be read gives exit code 64${because}`, async () => {
    const stub = await startStub([created]);
    // On Linux, a read of this file fails even for root.
    expect((await run({ baseUrl: stub.url, file: '/proc/self/mem' })).code).toBe(64);
    expect(stub.bodies).toEqual([]);
  });

  tested(`empty times are accepted, and the request is retried${because}`, async () => {
    const stub = await startStub([busy('1'), created]);
    expect(await run({ baseUrl: stub.url, retrySeconds: '', requestSeconds: '' })).toMatchObject({ code: 0 });
  });

  tested(`a wrong call sends nothing, prints one line and exits with 64${because}`, async () => {
    const wrong: Partial<Call>[] = [
      ...['abc', '0.5', '30m', '0', '08', 'nan', '1000000'].map((retrySeconds) => ({ retrySeconds })),
      ...['abc', '1m', '-1', ' 5'].map((requestSeconds) => ({ requestSeconds })),
      { file: 'missing.json' },
      { file: 'docs' },
      { options: ['--strict'] },
      { options: [PAYLOAD] },
      { baseUrl: '' },
      { baseUrl: '127.0.0.1:1/x' },
      { env: { API_KEY: '' } },
      { env: { API_KEY: 'a\nb: c' } },
    ];
    for (const call of wrong) {
      const stub = await startStub([created]);
      const outcome = await run({ baseUrl: stub.url, ...call });
      expect([call, outcome]).toMatchObject([call, { code: 64 }]);
      expect(outcome.output.trim().split('\n')).toHaveLength(1);
      expect(stub.bodies).toEqual([]);
    }
  });
});
