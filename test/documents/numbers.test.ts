import { globSync, readFileSync } from 'node:fs';
import { MAX_DOCUMENT_ID_BYTES } from '../../functions/src/lib/document-id';
import { PREFLIGHT_MAX_AGE_S } from '../../functions/src/lib/http/cors';
import { BUSY_RETRY_AFTER_MS, PAUSE_RETRY_AFTER_MS } from '../../functions/src/lib/http/pipeline';
import { LINGER, MAX_BUFFERED_RESPONSE_BYTES, MIN_COMPRESSION_BYTES } from '../../functions/src/lib/http/response';
import { MAX_DEPTH } from '../../functions/src/lib/json';
import { LARGE_BODY_BYTES, MIN_HELD_BYTES } from '../../functions/src/lib/memory';
import {
  BODY_IDLE_TIMEOUT_MS,
  MAX_CANONICAL_BYTES,
  MAX_PRODUCTS,
  PRICE_LISTS_BODY_LIMITS,
  READ_BODY_LIMITS,
} from '../../functions/src/lib/payload-limits';
import { UNSEARCHABLE_TEXT_BYTES } from '../../functions/src/lib/repositories/organisation';
import { listOptions, sweepOptions, writeOptions } from '../../functions/src/lib/runtime-options';
import { MAX_FIELD_ERRORS } from '../../functions/src/lib/schemas/add-price-lists';
import { MAX_TEXT_BYTES } from '../../functions/src/lib/schemas/fields';
import {
  getTimeLimitMs,
  LEASE_DURATION_MS,
  RENEWAL_INTERVAL_MS,
  RETRY_MS,
  STOP_MS,
  SWEEP_INTERVAL_MS,
} from '../../functions/src/lib/time-limits';
import { WRITE_SIZES } from '../../functions/src/lib/work-context';
import { MAX_STORED_BYTES } from '../../functions/src/price-lists/payload';
import {
  canResumeAutomatically,
  getAttemptWaitMs,
  getSweepResumeAt,
  SWEEP_WAIT_MS,
} from '../../functions/src/price-lists/schedule';
import { CONCURRENCY } from '../../functions/src/price-lists/sweep';
import { MAX_UNREADABLE_LINES } from '../../functions/src/lib/logging/sweep';
import { LAST_RESUME_MS } from '../../functions/src/lib/runtime-options';
import { operationNames } from '../../dev/run/operations';
import { failed } from '../harness/key-records';

/**
 * Tests the quantities in the text and the diagrams of README.md and docs/*.md. Each stands in a phrase of one of the two tables
 * below, in the text of a link to its source, or on docs/performance.md, which has what was measured. The first table computes
 * its phrases from constants of the code and from other files. So if a quantity changes there, no phrase has the old one any
 * more, and the test fails.
 */

const [SECOND, MINUTE, HOUR, DAY, MIB] = [1_000, 60_000, 3_600_000, 86_400_000, 1024 * 1024];

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

const number = (value: number) => value.toLocaleString('en-GB');
const word = (value: number) => WORDS[value] ?? number(value);
const seconds = (ms: number) => `${number(ms / SECOND)} s`;
const mib = (bytes: number) => `${number(bytes / MIB)} MiB`;
/** Returns a time rounded up to whole units, as the pages write it, such as `two minutes`. */
const atLeast = (ms: number, unitMs: number, unit: string) => `${word(Math.ceil(ms / unitMs))} ${unit}`;
const every = (ms: number, unitMs: number, unit: string) => (ms === unitMs ? unit : `${word(ms / unitMs)} ${unit}s`);

const halfHours = (ms: number) => (ms <= HOUR / 2 ? 'half an hour' : `${Math.ceil((2 * ms) / HOUR) / 2} hours`);

const afterTries = (failed_tries: number) => ({ ...failed, failed_tries });
const tries = WORDS.findIndex((_, n) => n > 0 && !canResumeAutomatically(afterTries(n)));
const delayMs = (n: number) => (getSweepResumeAt(afterTries(n)) ?? NaN) - failed.updated_at;

const readLimitMs = getTimeLimitMs(listOptions, false);
const createLimitMs = getTimeLimitMs(writeOptions, true);
const firstResumeMs = LEASE_DURATION_MS + SWEEP_WAIT_MS;
/** The time limit of a creation, plus the longest wait for each resume by the sweep. */
const recoveryMs =
  createLimitMs + Array.from({ length: tries - 1 }, (_, n) => delayMs(n + 1) + SWEEP_WAIT_MS).reduce((a, b) => a + b);

/** Returns the number that the group of a pattern matches in a file of the repository. @throws Error if the file does not match */
function read(path: string, pattern: RegExp): number {
  const value = pattern.exec(readFileSync(path, 'utf8'))?.[1];
  if (value === undefined) throw new Error(`${path} does not match ${String(pattern)}`);
  return Number(value);
}

const MONITORING = 'deploy/monitoring';
const percent = (slo: string) => `${number(100 * read(`${MONITORING}/slos/${slo}.json`, /"goal": ([\d.]+)/))} %`;
const readAlert = (alert: string, pattern: RegExp) => read(`${MONITORING}/alerts/${alert}.json`, pattern);
/**
 * Returns the burn rate above which an alert fires: the share of requests that fail in a time range, divided by the share
 * that the objective allows.
 */
const burnRate = (range: string) => {
  const errors = readAlert('reads-fail', new RegExp(`\\[${range}\\].*?> (0\\.\\d+)`));
  return Math.round(errors / (1 - read(`${MONITORING}/slos/read-availability.json`, /"goal": ([\d.]+)/)));
};

const readDefault = (option: string) =>
  read('command/cli/arguments.ts', new RegExp(`'--${option} <number>'.*, (\\d+)\\)`));

/** A product as clients send it. */
const PRODUCT = `"${'x'.repeat(16)}":{"price_list_price":469.32,"expected_forward_cost_price":399.78},`;

const SAMPLE = 'docs/examples/price-list.json';
const sampleProducts = (JSON.parse(readFileSync(SAMPLE, 'utf8')) as { products: object }).products;

/** Phrases whose quantities come from constants of the code or from other files. */
const COMPUTED = [
  // Tries and resumes
  `until ${word(tries)} tries have failed`,
  `\`${tries} failed since the claim`,
  `when ${word(tries - 1)} resumes have failed`,
  `plus ${atLeast(delayMs(2), MINUTE, 'minute')} if two tries have failed, or ${atLeast(delayMs(3), MINUTE, 'minutes')} if three have`,
  `After ${halfHours(recoveryMs)} of retries`,
  `resumes up to ${word(CONCURRENCY)} at a time`,
  `does not respond for ${every(RETRY_MS.outage, MINUTE, 'a minute')}`,
  // Leases and sweeps
  `renewal is at least ${seconds(RENEWAL_INTERVAL_MS)} old`,
  `expires ${seconds(LEASE_DURATION_MS)} after`,
  `begins at most ${seconds(firstResumeMs)} later`,
  `begins within ${atLeast(firstResumeMs, MINUTE, 'minutes')}`,
  `up to ${atLeast(firstResumeMs, MINUTE, 'minutes')}`,
  `starts \`sweepPriceLists\` every ${every(SWEEP_INTERVAL_MS, MINUTE, 'minute')}`,
  `Cloud Scheduler, every ${every(SWEEP_INTERVAL_MS, MINUTE, 'minute')}`,
  `which runs every ${every(SWEEP_INTERVAL_MS, MINUTE, 'minute')}`,
  `--project your-project\` every ${every(SWEEP_INTERVAL_MS, MINUTE, 'minute')}`,
  `calls the sweep every ${every(SWEEP_INTERVAL_MS, MINUTE, 'minute')}`,
  `resumes a key ${every(SWEEP_INTERVAL_MS, MINUTE, 'a minute')} after`,
  `within ${atLeast(SWEEP_WAIT_MS, MINUTE, 'minutes')} the log must have`,
  `Wait ${number(sweepOptions.timeoutSeconds / 60)} minutes, because`,
  `a pause of more than ${atLeast(LAST_RESUME_MS, MINUTE, 'minutes')}`,
  `at most ${MAX_UNREADABLE_LINES} such lines`,
  // Limits of a request
  `at most ${number(MAX_TEXT_BYTES)} bytes of UTF-8 without`,
  `| ${number(MAX_TEXT_BYTES)} bytes of UTF-8`,
  `1 to ${number(MAX_DOCUMENT_ID_BYTES)} bytes of UTF-8`,
  `more than ${number(MAX_DOCUMENT_ID_BYTES)} characters`,
  `${UNSEARCHABLE_TEXT_BYTES} bytes or more`,
  `${mib(READ_BODY_LIMITS.maxBytes)}; add price lists ${mib(PRICE_LISTS_BODY_LIMITS.maxBytes)}`,
  `at most ${mib(PRICE_LISTS_BODY_LIMITS.maxBytes)} before compression`,
  `${mib(MAX_CANONICAL_BYTES)}; compressed ${mib(MAX_STORED_BYTES)}`,
  `about ${number(Math.round(PRICE_LISTS_BODY_LIMITS.maxBytes / PRODUCT.length / 10_000) * 10_000)} products with identifiers of 16 characters`,
  `1 to ${number(MAX_PRODUCTS)}; as many as fit`,
  `| ${number(MAX_DEPTH)} levels`,
  `| ${MAX_FIELD_ERRORS}; the message`,
  `${seconds(READ_BODY_LIMITS.timeoutMs)}; add price lists ${seconds(PRICE_LISTS_BODY_LIMITS.timeoutMs)}`,
  `lists for ${seconds(PRICE_LISTS_BODY_LIMITS.timeoutMs)}`,
  `${seconds(readLimitMs)}; add price lists ${seconds(createLimitMs)}`,
  `no byte of it arrives for ${seconds(BODY_IDLE_TIMEOUT_MS)}`,
  `Allow ${atLeast(listOptions.timeoutSeconds * SECOND, MINUTE, 'minutes')}, and retry`,
  `Allow ${number(Math.floor(writeOptions.timeoutSeconds / 60) + 1)} minutes for one request`,
  `Add price lists has ${number(writeOptions.timeoutSeconds)} s`,
  `${word(writeOptions.concurrency)} requests at once`,
  `${number(writeOptions.concurrency * 20)} creations`,
  `a body of at least ${mib(LARGE_BODY_BYTES)}`,
  `A small creation counts as ${mib(MIN_HELD_BYTES)}`,
  // Responses
  `${number(getAttemptWaitMs({ products_count: 0 }) / SECOND)} seconds and one more for each 2,000 products, at most ${SWEEP_WAIT_MS / SECOND}. It is ${SWEEP_WAIT_MS / SECOND} after a failure, ${PAUSE_RETRY_AFTER_MS / SECOND} in a pause, and ${BUSY_RETRY_AFTER_MS / SECOND} if`,
  `a response of ${MIN_COMPRESSION_BYTES / 1024} KiB or more`,
  `buffers up to ${number(MAX_BUFFERED_RESPONSE_BYTES / 1e6)} MB`,
  `closes within ${seconds(LINGER.maxMs)} of the response`,
  `closes the connection after ${seconds(LINGER.maxMs)}`,
  `for at most ${seconds(LINGER.maxMs)}, so`,
  `cache for ${every(PREFLIGHT_MAX_AGE_S * SECOND, HOUR, 'an hour')}`,
  // Operations and batches
  `operations[${word(operationNames.length)} operations, over lib/http]`,
  `at most ${WRITE_SIZES.batchEntries} entries in one commit`,
  // The end of an instance
  `fails those in progress after ${seconds(STOP_MS.abortWrites)}, and exits within ${seconds(STOP_MS.exit)}`,
  // Monitoring
  `Each objective covers ${read(`${MONITORING}/slos/read-availability.json`, /"rollingPeriod": "(\d+)s"/) / (DAY / SECOND)} days`,
  `${percent('read-availability')} of reads succeed`,
  `${percent('read-latency')} of reads wait less than ${seconds(read(`${MONITORING}/slos/read-latency.json`, /"max": (\d+)/))}`,
  `${percent('creation-success')} of price lists are ready within ${read(`${MONITORING}/metrics/creations_in_time.json`, /since_claim_ms<=(\d+)/) / MINUTE} minutes`,
  `call each operation every ${read(`${MONITORING}/uptime/getTeams.json`, /"period": "(\d+)s"/) / 60} minutes`,
  `nothing for ${read(`${MONITORING}/uptime/getTeams.json`, /"timeout": "(\d+)s"/)} s`,
  `more than ${burnRate('1h')} times the allowed rate`,
  `more than ${burnRate('6h')} times that rate over six hours`,
  `no activity for ${readAlert('sweep-stopped', /\[(\d+)m\]/)} minutes`,
  `paused for ${readAlert('sweep-stopped', /1d\]\)\) > (\d+)/) / 60} hours`,
  `not completed for ${readAlert('audit', /\[(\d+)h\]/)} hours`,
  // Other files
  `1 to ${read('functions/src/lib/api-keys.ts', /\{1,(\d+)\}/)} characters`,
  `up to ${read('docs/deployment.md', /--limit=(\d+)/)} requests of the last day`,
  `the oldest ${readDefault('limit')} keys`,
  `compares up to ${readDefault('sample')} of each list`,
  `the ${Object.keys(sampleProducts).length} products of [price-list.json]`,
  `Write a list of ${number(read('docs/getting-started.md', /length: (\d+) /))} products to a file`,
  `${read('test/fuzz/fuzz.test.ts', /FUZZ_REQUESTS'\] \?\? (\d+)/)} hostile requests`,
  `growth by ${read('test/fuzz/fuzz.test.ts', /MORE_MEMORY = (\d+) \*/)} MiB`,
];

/** Phrases whose quantities this test does not compute. */
const CHOSEN = [
  // Examples
  'A request: Two products',
  'A response: Two orders',
  'A response: Two supply orders',
  'Example: `POST addPriceLists` with 100,000 products',
  'creates a price list of two products',
  '(NFC) and an `é` of two (NFD) make two products',
  // Estimates and measured figures
  'seconds for 1,000 products, three to five minutes for 100,000, and about thirteen for 400,000',
  'about 170,000 orders',
  '1.5 to 2 times what [400,000 products](performance.md#scale) need',
  'The installation takes 650 MB',
  'in about seven minutes on two cores',
  'can take a minute to be known',
  // Advice
  'Keep images for 30 days',
  'whose image is kept for 30 days',
  'for example to 30 seconds',
  'hopeless with 32 random bytes',
  'before you send lists every day',
  'If two requests have the same market and month',
  // Schedules, alerts and tests
  'to audit every day',
  'Once a day, [audit.yml]',
  'failed completely for an hour',
  'ten times at once',
  'work on up to three keys',
];

/** Matches a number or a number word before a unit or before a noun such as `products`, and phrases such as `every minute`. */
const QUANTITY =
  /(?<![\w/.#,-])(?:(?:\d[\d,]*(?:\.\d+)?|half an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|twenty|thirty|dozen|hundred|thousand)(?: to \w+)?[ -](?:\w+ )?(?:s|ms|seconds?|minutes?|hours?|days?|KiB|MiB|GiB|KB|MB|GB|bytes|characters|levels|%|tries|times|products|orders|entries|requests|creations|keys|operations)(?!\w)|(?:every|an?) (?:minute|hour|day)(?!\w))/gi;

const pages = ['README.md', ...globSync('docs/*.md').filter((path) => path !== 'docs/performance.md')]
  .sort()
  .map((path) => ({
    path,
    text: readFileSync(path, 'utf8').replace(/^ *```(\w*)\n[^]*?^ *```/gm, (block, language) =>
      language === 'mermaid' ? block : block.replace(/./g, ' '),
    ),
  }));

/** Matches a link to the source of a figure: docs/performance.md or another site. */
const SOURCED = /\[[^[\]]*\]\((?:https:|(?:docs\/)?performance\.md)[^)]*\)/g;

function findSpans(text: string): [from: number, to: number][] {
  const links = [...text.matchAll(SOURCED)].map(({ 0: link, index }): [number, number] => [index, index + link.length]);
  const phrases = [...COMPUTED, ...CHOSEN].flatMap((phrase) =>
    text
      .split(phrase)
      .slice(0, -1)
      .map((_, n, parts): [number, number] => {
        const from = parts.slice(0, n + 1).join(phrase).length;
        return [from, from + phrase.length];
      }),
  );
  return [...links, ...phrases];
}

test('each quantity in the text and the diagrams of README.md and docs/*.md, except docs/performance.md, is in a phrase of this test or in a link to its source', () => {
  const unknown = pages.flatMap(({ path, text }) => {
    const spans = findSpans(text);
    return [...text.matchAll(QUANTITY)]
      .filter(({ 0: found, index }) => !spans.some(([from, to]) => from <= index && index + found.length <= to))
      .map(
        ({ 0: found, index }) =>
          `${path}:${text.slice(0, index).split('\n').length}: ${found}: ${text.slice(Math.max(0, index - 40), index + found.length + 30)}`,
      );
  });
  expect(unknown).toEqual([]);
});

test.each([...COMPUTED, ...CHOSEN])('a page says "%s"', (phrase) => {
  expect(pages.filter(({ text }) => text.includes(phrase))).not.toEqual([]);
});
