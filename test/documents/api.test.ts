import { replaceSection } from '../../dev/generate/openapi/reference';
import { readFileSync } from 'node:fs';
import { ERROR_DEFINITIONS } from '../../functions/src/lib/errors';
import {
  MAX_CANONICAL_BYTES,
  MAX_PRODUCTS,
  PRICE_LISTS_BODY_LIMITS,
  READ_BODY_LIMITS,
} from '../../functions/src/lib/payload-limits';
import { rangeOptions, writeOptions } from '../../functions/src/lib/runtime-options';
import { getTimeLimitMs } from '../../functions/src/lib/time-limits';
import { collections, fields, subcollections } from '../../functions/src/lib/firestore/collections';
import { MAX_TEXT_BYTES } from '../../functions/src/lib/schemas/fields';
import { MAX_FIELD_ERRORS } from '../../functions/src/lib/schemas/add-price-lists';
import { MAX_DEPTH } from '../../functions/src/lib/json';
import { BUSY_RETRY_AFTER_MS, PAUSE_RETRY_AFTER_MS } from '../../functions/src/lib/http/pipeline';
import { WRITE_SIZES } from '../../functions/src/lib/work-context';
import { MAX_STORED_BYTES } from '../../functions/src/price-lists/payload';
import { getAttemptWaitMs, SWEEP_WAIT_MS } from '../../functions/src/price-lists/schedule';
import { headers } from '../../dev/generate/openapi/headers';

/**
 * Compares what the pages say about the API and the stored data with docs/openapi.json and the code, and tests the function that
 * replaces a section of docs/api.md.
 */

interface Body {
  headers?: Record<string, unknown>;
}

interface Method {
  responses: Record<number, Body | undefined>;
}

const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
  paths: { '/addPriceLists': { post: Method } };
};

const page = readFileSync('docs/api.md', 'utf8');
const readSection = (heading: string): string => page.split(/^##+ /m).find((text) => text.startsWith(heading)) ?? '';

/** Returns the cells of each row of the tables in a text, without the headings. */
const readRows = (text: string): string[][] =>
  [...text.matchAll(/^\| (?!-)(.*) \|$(?!\n\| ?-)/gm)].map(([, row = '']) => row.split('|').map((cell) => cell.trim()));

test('the section Idempotency shows statuses, texts and headers of add price lists, without terms for operators', () => {
  const section = readSection('Idempotency\n');
  const responses: Record<string, Body | undefined> = paths['/addPriceLists'].post.responses;
  const shown = [...section.matchAll(/```http\n *HTTP\/1.1 (\d{3}).*?```/gs)];
  expect(shown.map(([, status]) => Number(status))).toEqual([200, 409, 409, 500]);
  for (const [block, status] of shown) {
    const headers = responses[status ?? '']?.headers ?? {};
    for (const [, name = ''] of block.matchAll(/^ *([\w-]+): /gm)) expect(Object.keys(headers)).toContain(name);
    const [, error] = /"error": "(.*)"/.exec(block) ?? [];
    const texts = Object.values(ERROR_DEFINITIONS).filter((each) => String(each.status) === status);
    if (error !== undefined) expect(texts.map(({ message }) => message as string)).toContain(error);
  }
  expect(section).not.toMatch(/\b(sweep|attempt|resume|instance)/i);
});

test('the section Idempotency has the values of Retry-After', () => {
  const products = 2_000;
  const getSeconds = (products_count: number) => getAttemptWaitMs({ products_count }) / 1000;
  const [first, step, most] = [getSeconds(0), getSeconds(products) - getSeconds(0), getSeconds(Infinity)];
  expect([step, getSeconds(products - 1), most]).toEqual([1, first, SWEEP_WAIT_MS / 1000]);
  expect(readSection('Idempotency\n')).toContain(
    `that is ${first} seconds and one more for each 2,000 products, at most ${most}.`,
  );
  expect(readSection('Idempotency\n')).toContain(
    `It is ${most} after a failure, ${PAUSE_RETRY_AFTER_MS / 1000} in a pause, and ${BUSY_RETRY_AFTER_MS / 1000} if the service`,
  );
});

test('docs/architecture.md and decision 4 have the batch size of the code', () => {
  for (const file of ['docs/architecture.md', 'docs/decisions/0004-two-lists.md']) {
    expect(readFileSync(file, 'utf8')).toContain(`${WRITE_SIZES.batchEntries} entries`);
  }
});

test('the section "Headers of a response" names the headers that a client acts on', () => {
  const section = readSection('Headers of a response\n');
  for (const name of [
    'X-Request-Id',
    'Idempotent-Replayed',
    'Retry-After',
    'Allow',
    'X-Payload-Limit-Scope',
    'X-Payload-Limit-Bytes',
  ] as const) {
    expect([name, headers[name].description, section]).toEqual([
      name,
      expect.any(String),
      expect.stringContaining(`\`${name}`),
    ]);
  }
  expect(section).toContain(`\`WWW-Authenticate: ${headers['WWW-Authenticate'].schema.enum[0]}\``);
});

test('the table of errors has the status and text of every error', () => {
  const rows = readRows(readSection('Errors\n'));
  const errors = Object.values(ERROR_DEFINITIONS);
  expect(rows.map(([status, text]) => [status, text])).toEqual(
    errors.map(({ status, message }) => [String(status), message]),
  );
});

test('the table of limits has the values of the code', () => {
  const mib = (bytes: number) => `${bytes / 1024 ** 2} MiB`;
  const count = (n: number) => n.toLocaleString('en');
  const seconds = (ms: number) => `${count(ms / 1000)} s`;
  const { maxBytes, timeoutMs } = PRICE_LISTS_BODY_LIMITS;
  expect(Object.fromEntries(readRows(readSection('Limits\n')))).toMatchObject({
    'Request body, as sent and inflated': `${mib(READ_BODY_LIMITS.maxBytes)}; add price lists ${mib(maxBytes)}`,
    'Nesting of a request body': `${count(MAX_DEPTH)} levels`,
    'Products of a price list': `1 to ${count(MAX_PRODUCTS)}; as many as fit into the body`,
    'Payload to store, as canonical JSON': `${mib(MAX_CANONICAL_BYTES)}; compressed ${mib(MAX_STORED_BYTES)}`,
    'Time to send the body': `${seconds(READ_BODY_LIMITS.timeoutMs)}; add price lists ${seconds(timeoutMs)}`,
    'Time to process a request, body included': `${seconds(getTimeLimitMs(rangeOptions, false))}; add price lists ${seconds(getTimeLimitMs(writeOptions, true))}`,
    'Text field': `${count(MAX_TEXT_BYTES)} bytes of UTF-8`,
    'Field errors in a 400 of add price lists': expect.stringMatching(`^${MAX_FIELD_ERRORS};`) as string,
  });
});

describe('docs/data-model.md', () => {
  const text = readFileSync('docs/data-model.md', 'utf8');

  test.each(Object.entries(collections))('has a line for %s, with each field in collections.ts', (key, collection) => {
    const [line] = new RegExp(`^- \\*\\*\`${collection}\`.*$`, 'm').exec(text) ?? [];
    const names = (fields as Record<string, Record<string, string>>)[key.replace(/s$/, '')] ?? {};
    for (const field of Object.values(names))
      for (const part of field.split('.')) expect(line).toContain(`\`${part}\``);
    expect(line).toBeDefined();
  });

  test.each(Object.values(subcollections))('has a line for the subcollection %s', (name) => {
    expect(text).toMatch(new RegExp(`^- \\*\\*\`\\S+/${name}\``, 'm'));
  });
});

test('replaceSection gives each section its own text, even if a section has only its heading', () => {
  const page = '### Get a\n\n### Get b\n\nold\n\n## Errors\n';
  const both = replaceSection(replaceSection(page, 'Get a', 'first\n'), 'Get b', 'second\n');
  expect(both).toBe('### Get a\n\nfirst\n\n### Get b\n\nsecond\n\n## Errors\n');
});
