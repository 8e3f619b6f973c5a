/**
 * Sends a price list until it is stored, or until sending it again is of no use (docs/price-lists.md).
 *
 *     BASE_URL=http://127.0.0.1:5001/demo-price-lists/us-central1 API_KEY=local-dev-key \
 *       node docs/examples/add-price-list.mts docs/examples/price-list.json
 *
 * Runs on Node 24 as it is. Ends with 0: stored; 1: correct it first; 2: call us.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** For how long to try: longer than the service takes for the largest list. */
const PATIENCE_MS = 30 * 60_000;

/** How long one request may take: the service answers or gives up within 20 minutes. */
const REQUEST_MS = 21 * 60_000;

/** Statuses that pass by themselves, of the service and of the platform before it. */
const PASSING = [408, 429, 502, 503, 504];

type Verdict = { is: 'stored' | 'correct it first' | 'call us'; text: string } | { is: 'retry'; afterMs?: number };

async function send(payload: string): Promise<Verdict> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${process.env['BASE_URL']}/addPriceLists`, {
      method: 'POST',
      headers: { 'x-api-key': process.env['API_KEY'] ?? '', 'Content-Type': 'application/json' },
      body: payload,
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    text = await response.text();
  } catch {
    // No answer says nothing of what became of the request. Sending it again is safe.
    return { is: 'retry' };
  }
  const seconds = response.headers.get('Retry-After');
  const told = `${response.status} ${text} (request ${response.headers.get('X-Request-Id')})`;
  if (response.status === 200) return { is: 'stored', text };
  if (seconds !== null) return { is: 'retry', afterMs: Number(seconds) * 1000 };
  if (PASSING.includes(response.status) || text.includes('Internal error')) return { is: 'retry' };
  if (response.status >= 500 || text.includes('requires review')) return { is: 'call us', text: told };
  return { is: 'correct it first', text: told };
}

async function sendUntilSettled(payload: string): Promise<Exclude<Verdict, { is: 'retry' }>> {
  const patient_until = Date.now() + PATIENCE_MS;
  for (let delayMs = 1000; ; delayMs = Math.min(delayMs * 2, 30_000)) {
    const verdict = await send(payload);
    if (verdict.is !== 'retry') return verdict;
    if (Date.now() > patient_until) return { is: 'call us', text: 'no answer in time' };
    await sleep(verdict.afterMs ?? delayMs);
  }
}

const payload = await readFile(process.argv[2] ?? '/dev/stdin', 'utf8');
const { is, text } = await sendUntilSettled(payload);
if (is === 'stored') console.log(text);
else console.error(`${is}: ${text}`);
process.exitCode = { stored: 0, 'correct it first': 1, 'call us': 2 }[is];
