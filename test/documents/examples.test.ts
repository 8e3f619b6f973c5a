import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { cleanUp, startLocalServer, temporaryFolder, type LocalServer } from '../support/local-server';
import { runProgram, runProgramSync, type Variables } from '../support/programs';
import { respond, startStub } from './stub-service';

/** The samples in bash and Python do what docs/integration-guide.md says. */

const KEY = 'local-dev-key';
const PAYLOAD = 'docs/examples/price-list.json';
const payload = readFileSync(PAYLOAD);
/** The part of the service's response to `payload` that the programs read. */
const CREATED = '{"success":true,"market":{"id":"mkt-ken"},"price_list":{"currency":"KES"}}';
const IN_PROGRESS = 'Request is already being processed or requires review';
const NOT_CREATED = 'Price lists could not be created; the request requires review';

let service: LocalServer;
let baseUrl: string;

beforeAll(async () => {
  service = await startLocalServer({ API_KEY: KEY, SAMPLE_DATA: 'true' });
  baseUrl = service.address('getTeams').replace('/getTeams', '');
}, 300_000);
afterAll(cleanUp);

const programs = {
  curl: ['bash', ['docs/examples/add-price-list.sh']],
  // `-S` hides packages that this machine has installed.
  Python: ['python3', ['-S', 'docs/examples/add-price-list.py']],
} as const;

/** Settings of curl, grep and Python that a caller may have, and that the programs must ignore. */
const curlHome = temporaryFolder();
writeFileSync(join(curlHome, '.curlrc'), 'location\nfail\ninclude\nproxy = "http://127.0.0.1:9"\n');
const CALLER: Variables = {
  CURL_HOME: curlHome,
  GREP_OPTIONS: '--invert-match',
  PYTHONIOENCODING: 'ascii',
  http_proxy: 'http://127.0.0.1:9',
  all_proxy: 'http://127.0.0.1:9',
};

/** The same programs with a `sleep` that does not wait. */
const withoutDelays: Record<keyof typeof programs, readonly string[]> = {
  curl: ['-c', 'sleep() { :; }; . "$0"', ...programs.curl[1]],
  Python: [
    '-Sc',
    "import runpy, sys, time; time.sleep = lambda _: None; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')",
    ...programs.Python[1].slice(1),
  ],
};

test('the calls in docs/integration-guide.md store the example price list, by either program', async () => {
  const guide = readFileSync('docs/integration-guide.md', 'utf8');
  const [, block = ''] = /```bash\n(export BASE_URL[^]*?)```/.exec(guide) ?? [];
  const code = block.replace('http://127.0.0.1:5001', new URL(baseUrl).origin);
  const { stdout, stderr } = await runProgram('bash', ['-ec', code], { cwd: 'docs' });
  const [first = '', replay] = stdout.trim().split('\n');
  expect(JSON.parse(first)).toMatchObject({ success: true, products_count: 12, price_list: { status: 'ready' } });
  expect([replay, stderr]).toEqual([first, '']);
}, 60_000);

describe.each(Object.entries(programs))('the program for %s', (name, [program, script]) => {
  const needed = name === 'curl' ? ['bash', 'curl', 'awk'] : [program];
  const missing = needed.filter((tool) => runProgramSync(tool, ['--version']).error !== undefined);
  // The title of a skipped test says why it did not run.
  const tested = missing.length === 0 ? test : test.skip;
  // These tests mostly wait, so those of both programs run side by side.
  const testedInParallel = missing.length === 0 ? test.concurrent : test.skip;
  const commandWithoutDelays = withoutDelays[name as keyof typeof programs];
  const because = missing.length === 0 ? '' : ` (skipped: ${missing.join(', ')} is not on this machine)`;

  const run = async (
    BASE_URL: string | undefined,
    args: readonly string[] = [PAYLOAD],
    variables: Variables = {},
    command: readonly string[] = script,
  ): Promise<{ code: number; stdout: string; stderr: string }> => {
    const python = { PYTHONDONTWRITEBYTECODE: '1' };
    const env = { BASE_URL, API_KEY: KEY, ...python, ...CALLER, ...variables };
    try {
      return { code: 0, ...(await runProgram(program, [...command, ...args], { env })) };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
      return { code: Number(code), stdout, stderr };
    }
  };

  tested(`reads a response that comes before the whole body is sent${because}`, async () => {
    const file = join(temporaryFolder(), 'large.json');
    writeFileSync(file, Buffer.alloc(64 * 1024 * 1024, 'a'));
    const tooLarge = await run(baseUrl, [file]);
    expect(tooLarge).toMatchObject({ code: 1, stderr: expect.stringMatching(/^correct it first: 413 /) as string });
    const unauthorized = await run(baseUrl, [file], { API_KEY: 'wrong' });
    expect(unauthorized).toMatchObject({ code: 1, stderr: expect.stringMatching(/^correct it first: 401 /) as string });
  });

  /** Writes a payload that differs from the example in the given values of `info`. */
  function writePayload(info: Record<string, string>): string {
    const example = JSON.parse(payload.toString()) as { info: object; products: object };
    const products = {
      ...example.products,
      other: { price_list_price: 1, expected_forward_cost_price: 1, currency_iso: 'EUR' },
    };
    const file = join(temporaryFolder(), 'payload.json');
    writeFileSync(
      file,
      JSON.stringify({ products, info: { ...example.info, boq_list_id: `${name}-${Math.random()}`, ...info } }),
    );
    return file;
  }

  tested(`exits with 1 if the market does not exist, and says how to correct the list${because}`, async () => {
    const file = writePayload({ market_id: 'mkt-nowhere', name: 'a "market":{} and {"currency_iso":"EUR"}' });
    const { code, stdout, stderr } = await run(baseUrl, [file]);
    expect(JSON.parse(stdout)).toMatchObject({ success: true, price_list: null });
    expect(stderr).toMatch(
      /^correct it first: no list was created, because no market has the market_id .*new boq_list_id/,
    );
    expect(code).toBe(1);
  });

  tested(`warns if the lists have another currency than the request${because}`, async () => {
    const file = writePayload({ currency_iso: 'usd', name: 'Жёлтый "currency":"USD" \\' });
    const { code, stdout, stderr } = await run(baseUrl, [file]);
    expect(JSON.parse(stdout)).toMatchObject({ price_list: { currency: 'KES', status: 'ready' } });
    expect(stderr).toBe('warning: the prices are stored as KES, the currency of the market, not as USD\n');
    expect(code).toBe(0);
    const strict = await run(baseUrl, ['--strict-currency', file]);
    expect(strict).toEqual({
      code: 1,
      stdout,
      stderr: 'correct it first: the prices are stored as KES, the currency of the market, not as USD\n',
    });
  });

  tested(`prints no warning if the lists have the currency of the request${because}`, async () => {
    const file = writePayload({ currency_iso: 'kes' });
    expect(await run(baseUrl, ['--strict-currency', file])).toMatchObject({ code: 0, stderr: '' });
  });

  tested(`reaches an https address through the caller's proxy, and shows it no API key${because}`, async () => {
    const asked: IncomingMessage[] = [];
    const proxy = createServer().on('connect', (request: IncomingMessage, socket: Socket) => {
      asked.push(request);
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const { port } = proxy.address() as AddressInfo;
    const settings = { https_proxy: `http://user:pass@127.0.0.1:${port}`, RETRY_SECONDS: '0' };
    const { code, stderr } = await run('https://service.invalid', [PAYLOAD], settings);
    proxy.close();
    expect([code, stderr]).toEqual([2, expect.stringContaining('the last: no response: ')]);
    expect(asked.map(({ url }) => url)).toEqual(['service.invalid:443']);
    expect(asked[0]?.headers).toMatchObject({ 'proxy-authorization': 'Basic dXNlcjpwYXNz' });
    expect(asked[0]?.headers).not.toHaveProperty('x-api-key');
  });

  /** Each transient error, the reason that the program prints, and the seconds until its next try. */
  const transient: [RequestListener, string, number][] = [
    [(_, response) => response.destroy(), 'no response: .*', 1],
    [respond(408, '{"error":"Request timeout"}'), '408 Request timeout', 2],
    [respond(429, 'Rate exceeded.'), '429', 4],
    [respond(503, '<html>Service Unavailable</html>'), '503', 8],
    [respond(409, `{"error":"${IN_PROGRESS}"}`, { 'Retry-After': '0' }), `409 ${IN_PROGRESS}`, 0],
    [respond(500, `{"error":"${NOT_CREATED}"}`, { 'Retry-After': '0' }), `500 ${NOT_CREATED}`, 0],
    [respond(500, '{"error":"Internal error"}'), '500 Internal error', 30],
    [respond(500, '<html>error</html>'), '500, but not with a response of the service', 30],
    [respond(200, '<html>Sign in</html>'), '200, but not with a response of the service', 30],
    [respond(200, '{"success":', { 'Content-Length': '80', Connection: 'close' }), 'no response: .*', 30],
  ];

  tested(`sends the same bytes again after each transient error, and prints the reason${because}`, async () => {
    const stub = await startStub([...transient.map(([response]) => response), respond(200, CREATED)]);
    const { code, stdout, stderr } = await run(stub.url, [PAYLOAD], {}, commandWithoutDelays);
    expect([code, stdout.trim()]).toEqual([0, CREATED]);
    // `toEqual` would compare the buffers byte by byte, which takes seconds.
    expect(stub.bodies.map((body) => body.equals(payload))).toEqual(Array(transient.length + 1).fill(true));
    const tries = stderr.split(/^(?=try )/m);
    expect(tries).toEqual(
      transient.map(
        ([, reason, delay], i) =>
          expect.stringMatching(new RegExp(`^try ${i + 1}: ${reason}; next try in ${delay} s\\n$`, 's')) as string,
      ),
    );
  });

  tested(`waits until the date in Retry-After${because}`, async () => {
    const date = (ms: number) => new Date(Date.now() + ms).toUTCString();
    const stub = await startStub([
      respond(503, '', { 'Retry-After': date(-60_000) }),
      (request, response) => respond(503, '', { 'Retry-After': date(60_000) })(request, response),
      respond(200, CREATED),
    ]);
    const { code, stderr } = await run(stub.url, [PAYLOAD], {}, commandWithoutDelays);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^try 1: 503; next try in 0 s\ntry 2: 503; next try in (60|5\d) s\n$/);
  });

  testedInParallel(`waits before each try, and stops when the time is over${because}`, async () => {
    const busy = respond(503, '');
    const stub = await startStub([busy, busy]);
    // Bash counts whole seconds. Without its pause of 1 s, either program would have time for a third try.
    const { code, stderr } = await run(stub.url, [PAYLOAD], { RETRY_SECONDS: name === 'curl' ? '2' : '2.5' });
    expect(code).toBe(2);
    expect(stderr.split('\n').slice(0, 2)).toEqual([
      'try 1: 503; next try in 1 s',
      'contact support: not stored after 2 tries, the last: 503',
    ]);
  });

  testedInParallel(`sends a request again that gets no response in time${because}`, async () => {
    const stub = await startStub([() => undefined, respond(200, CREATED)]);
    const { code, stderr } = await run(stub.url, [PAYLOAD], { REQUEST_SECONDS: '1' }, commandWithoutDelays);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^try 1: no response: /);
  });

  const wrongCalls: [string, Parameters<typeof run>, RegExp][] = [
    ['no file', ['http://127.0.0.1:1', []], /expected one file/],
    ['two files', ['http://127.0.0.1:1', [PAYLOAD, PAYLOAD]], /expected one file/],
    ['an unknown option', ['http://127.0.0.1:1', ['--strict', PAYLOAD]], /--strict\b/],
    ['a file that does not exist', ['http://127.0.0.1:1', ['missing.json']], /missing\.json/],
    ['a folder', ['http://127.0.0.1:1', ['docs']], /docs|directory/],
    ['no BASE_URL', [undefined], /BASE_URL/],
    ['a BASE_URL without a scheme', ['127.0.0.1:1/x'], /BASE_URL/],
    ['no API_KEY', ['http://127.0.0.1:1', [PAYLOAD], { API_KEY: undefined }], /API_KEY/],
    ['an API_KEY with a line break', ['http://127.0.0.1:1', [PAYLOAD], { API_KEY: 'a\nb: c' }], /API_KEY/],
  ];

  tested(`rejects a wrong call before the first try${because}`, async () => {
    await Promise.all(
      wrongCalls.map(async ([wrong, call, reason]) => {
        const { code, stdout, stderr } = await run(...call);
        expect([wrong, code, stdout]).toEqual([wrong, 64, '']);
        expect(stderr).toMatch(reason);
        expect(stderr).toContain('Usage: BASE_URL=');
        expect(stderr).not.toContain('try 1');
      }),
    );
  });

  const stops = [
    [400, 'Payload is invalid', 1],
    [401, 'Unauthorized', 1],
    [409, 'Idempotency key already used with a different payload', 1],
    [413, 'Payload too large', 1],
    [409, IN_PROGRESS, 2],
    [500, NOT_CREATED, 2],
    [500, 'API key is not configured', 2],
  ] as const;

  tested(`stops at any other error with its exit code${because}`, async () => {
    await Promise.all(
      stops.map(async ([status, error, exitCode]) => {
        const stub = await startStub([respond(status, JSON.stringify({ error }))]);
        const { code, stderr } = await run(`${stub.url}/`);
        expect(stub.bodies).toHaveLength(1);
        expect([error, code]).toEqual([error, exitCode]);
        expect(stderr).toContain(error);
        expect(stderr).toContain('request-7');
      }),
    );
  });

  tested(`does not follow a redirect with the API key${because}`, async () => {
    const other = await startStub([respond(200, CREATED)]);
    const stub = await startStub([respond(307, '', { Location: `${other.url}/addPriceLists` })]);
    const { code } = await run(stub.url);
    expect([code, other.bodies]).toEqual([1, []]);
  });
});
