import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { escapeJsonControls } from '../command/cli/text';
import { parseOutsideJson } from '../command/cli/outside-json';
import { assertConforms } from './verify/conformance';
import { readArguments, refuseArguments } from '../dev/program.mjs';
import { readKeyFile } from './verify/key-file';
import {
  isPostOperation,
  operationNames,
  operations,
  type OperationName,
  type PostOperationName,
} from '../dev/run/operations';

const USAGE = `Usage: npm run verify -- --url <address> --key-file <file> [--market <market id>] [--json]

Calls every operation of a service with the API key, without an API key and with a wrong method, sends the preflight of get
warehouses, and compares each response with docs/openapi.json. Writes nothing without --market. With --market, the program creates
a price list of two products, repeats the request, and sends the same boq_list_id with a different payload.

--url       the address before the name of an operation, such as https://us-central1-your-project.cloudfunctions.net, or
            for npm start: http://127.0.0.1:5001/demo-price-lists/us-central1
--key-file  a file with an API key in its first line that is neither blank nor a comment; a digest cannot be sent
--json      print only the checks that fail, as log lines 'audit_violation': see "Audit" in docs/operations.md

Exit code: 0 every check passed, 1 a check failed, 64 wrong usage.`;

const TIMEOUT_MS = 60_000;

/** Headers that the platform can add to a response of the service. */
const FRONT_END_HEADERS = /^(alt-svc|server|via|x-cloud-trace-context|traceparent|function-execution-id)$/;

interface Target {
  url: string;
  key: string;
}

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: object;
}

/** @throws Error if no response arrives, or if the response has an unexpected status or differs from docs/openapi.json */
async function call(target: Target, operation: OperationName, expected: number | number[], sent: Sent = {}) {
  const { method = operations[operation].method, headers = { 'x-api-key': target.key }, body } = sent;
  const response = await fetch(`${target.url}/${operation}`, {
    method,
    headers: { 'Accept-Encoding': 'identity', 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString();
  if (![expected].flat().includes(response.status))
    throw new Error(`status ${response.status} instead of ${String(expected)}: ${text.slice(0, 200)}`);
  const received = Object.fromEntries([...response.headers].filter(([name]) => !FRONT_END_HEADERS.test(name)));
  const json: unknown =
    text === '' ? undefined : parseOutsideJson(text, z.unknown(), `the JSON body ${text.slice(0, 200)}`);
  assertConforms({ operation, method }, { status: response.status, headers: received, bytes, text, json });
  return { headers: response.headers, text };
}

/** A body that selects nothing. */
const nothing = { team_id: 'verify', start_date: '2026-01-01', end_date: '2026-01-02' };

/**
 * For each POST that reads, statuses that make the read use each of its indexes. Add price lists has none here, because it gets a
 * body that it rejects.
 */
const READ_STATUSES: Record<PostOperationName, unknown[]> = {
  getOrdersByTeam: ['ALL', 'WAITING'],
  supplyOrdersInvoices: [null, 0],
  addPriceLists: [],
};

const counts = { passed: 0, failed: 0 };
let isJson = false;

async function check(title: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
    counts.passed += 1;
    if (!isJson) console.log(`ok      ${title}`);
  } catch (error) {
    counts.failed += 1;
    const { message, cause } = error as Error;
    const reason = escapeJsonControls(cause instanceof Error ? cause.message : message);
    const line = { severity: 'ERROR', event: 'audit_violation', rule: 'response', path: title, message: reason };
    console.log(isJson ? JSON.stringify(line) : `FAILED  ${title}\n        ${reason}`);
  }
}

async function checkOperation(target: Target, name: OperationName): Promise<void> {
  const { emptyStatus } = operations[name];
  const isPost = isPostOperation(name);
  const statuses = isPost ? READ_STATUSES[name] : [];
  for (const status of statuses)
    await check(`${name}: a request for the status ${String(status)} is ${emptyStatus}`, () =>
      call(target, name, emptyStatus, { body: { ...nothing, status } }),
    );
  if (!isPost) await check(`${name}: a request is ${emptyStatus}`, () => call(target, name, [200, emptyStatus]));
  else if (statuses.length === 0)
    await check(`${name}: an invalid payload is 400, or 503 in a pause`, () =>
      call(target, name, [400, 503], { body: {} }),
    );
  const keyless: Sent = { headers: {}, ...(isPost && { body: {} }) };
  await check(`${name}: a request without an API key is 401`, () => call(target, name, 401, keyless));
  await check(`${name}: another method is 405`, () => call(target, name, 405, { method: 'DELETE' }));
  if (!operations[name].cors) return;
  const headers = { Origin: 'https://not-allowed.invalid', 'Access-Control-Request-Method': 'GET' };
  const preflight = { method: 'OPTIONS', headers };
  await check(`${name}: a preflight of an origin that is not allowed is 403`, () => call(target, name, 403, preflight));
}

async function checkCreation(target: Target, market_id: string): Promise<void> {
  const prices = { price_list_price: 1, expected_forward_cost_price: 1 };
  const boq_list_id = `verify-${randomUUID()}`;
  const info = { market_id, boq_list_id, currency_iso: 'USD', date: '01/2026', name: 'verify' };
  const body = { info, products: { 'verify-1': prices, 'verify-2': prices } };
  let created = '';
  await check(`addPriceLists: creates ${boq_list_id}`, async () => {
    created = (await call(target, 'addPriceLists', 200, { body })).text;
    if (created.includes('"price_list":null')) throw new Error(`there is no market ${market_id}`);
  });
  await check('addPriceLists: the same request gets the same response', async () => {
    const { headers, text } = await call(target, 'addPriceLists', 200, { body });
    if (text !== created || headers.get('idempotent-replayed') !== 'true') throw new Error('not a replay');
  });
  const other = { info, products: { 'verify-1': prices } };
  await check('addPriceLists: another payload under the same boq_list_id is 409', () =>
    call(target, 'addPriceLists', 409, { body: other }),
  );
}

async function main(): Promise<number> {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean' }] as const;
  const options = { url: text, 'key-file': text, market: text, json: flag } as const;
  const { values } = readArguments(USAGE, { options });
  const { url, 'key-file': file, market } = values;
  isJson = values.json === true;
  if (url === undefined || file === undefined) throw new Error('--url and --key-file are required.');
  if (!/^https?:\/\/[^/]/.test(url)) throw new Error('--url must be an address that begins with http:// or https://.');
  const target = { url: url.replace(/(?<!\/)\/+$/, ''), key: readKeyFile(file) };
  for (const name of operationNames) await checkOperation(target, name);
  if (market !== undefined) await checkCreation(target, market);
  const { passed, failed } = counts;
  if (!isJson) console.log(`\n${passed} of ${passed + failed} checks passed`);
  return failed === 0 ? 0 : 1;
}

main()
  .then((code) => (process.exitCode = code))
  .catch((error: unknown) => refuseArguments((error as Error).message, USAGE));
