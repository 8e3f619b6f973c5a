import { styleText } from 'node:util';
import type { Attempt, KeyRecord } from '../src/lib/schemas/key-record';
import type { WorkflowContext } from '../src/price-lists/create-price-lists';
import { readListProgress, type ListProgress } from './stored-records';
import type { StoredPayload } from './review';

/** What an operator is shown: the facts of a key, as they are for machines, and as text. */

export const HELP = `npm run price-lists -- <command>

  list [--status <status>]... [--older-than 30m]   keys that await an operator, oldest first
  show <boq_list_id> [--payload <file, or ->]      all there is to know of a key, or what was posted
  resume <boq_list_id> [--reason <text>]           finish its lists from the stored payload
  release <boq_list_id> --reason <text>            give its attempt up, and free the key

  --project <id>   the project; by default that of the environment, or of .firebaserc
  --json           for machines
  --yes            do not ask before anything is written
  --by <name>      who decides, if not the user of this machine

A project whose id begins with demo- is looked for at FIRESTORE_EMULATOR_HOST, or at 127.0.0.1:8080; any other one in
production, with the application-default credentials, unless FIRESTORE_EMULATOR_HOST is set.
`;

/** The facts of a key that `list` shows. Times are Unix milliseconds. */
export interface KeySummary {
  boq_list_id: string;
  status: KeyRecord['status'];
  market_id: string;
  products_count: number;
  /** How far both lists have come; null where no market matched. */
  expected_forward_cost: ListProgress | null;
  price_list: ListProgress | null;
  claimed_at: number;
  since: number;
  lease_expires_at: number;
  failure: string | null;
}

/** All facts of a key. */
export interface KeyDetails extends KeySummary {
  document_id: string;
  expected_forward_cost_id: string | null;
  price_list_id: string | null;
  fingerprint: string;
  payload:
    | { usable: true; bytes: number; name: string; date: string; currency_iso: string }
    | { usable: false; reason: string };
  response: string | null;
  history: readonly Attempt[];
  actions: KeyRecord['actions'];
}

export async function getKeySummary(record: KeyRecord, { db }: WorkflowContext): Promise<KeySummary> {
  const { boq_list_id, status, market_id, products_count, creation, claimed_at, lease_expires_at, failure } = record;
  const [expected_forward_cost, price_list] =
    creation === null
      ? [null, null]
      : await Promise.all([
          readListProgress(db, 'expected_forward_cost', creation),
          readListProgress(db, 'price_list', creation),
        ]);
  const since = record.updated_at;
  const lists = { expected_forward_cost, price_list };
  return { boq_list_id, status, market_id, products_count, ...lists, claimed_at, since, lease_expires_at, failure };
}

export async function getKeyDetails(
  record: KeyRecord,
  payload: StoredPayload,
  run: WorkflowContext,
): Promise<KeyDetails> {
  const { document_id, creation, fingerprint, response, history, actions } = record;
  return {
    ...(await getKeySummary(record, run)),
    document_id,
    expected_forward_cost_id: creation?.expected_forward_cost_id ?? null,
    price_list_id: creation?.price_list_id ?? null,
    fingerprint,
    payload: summary(payload),
    response,
    history,
    actions,
  };
}

function summary(payload: StoredPayload): KeyDetails['payload'] {
  if (payload.kind === 'invalid') return { usable: false, reason: payload.reason };
  const { name, date, currency_iso } = payload.submission.info;
  return { usable: true, bytes: payload.text.length, name, date, currency_iso };
}

/** The keys, one under the other. */
export function formatKeys(reports: readonly KeySummary[], awaitingOnly: boolean, now: number): string {
  const what = awaitingOnly ? 'awaiting an operator' : 'of these statuses';
  if (reports.length === 0) return `No key is ${what}.\n`;
  const keys = reports.length === 1 ? '1 key is' : `${reports.length} keys are`;
  return `${keys} ${what}, the oldest first.\n\n${reports.map((key) => formatKey(key, now)).join('\n')}`;
}

function formatKey(key: KeySummary, now: number): string {
  return formatFields(JSON.stringify(key.boq_list_id), {
    status: formatStatus(key, now),
    lists: `${count(key.products_count, 'product')} for market ${JSON.stringify(key.market_id)}`,
    written: formatProgress(key),
    failure: key.failure,
  });
}

/** Everything about one key. */
export function formatKeyDetails(key: KeyDetails, now: number): string {
  const { payload, history, actions } = key;
  return formatFields(JSON.stringify(key.boq_list_id), {
    status: formatStatus(key, now),
    claimed: formatTime(key.claimed_at),
    lists: `${count(key.products_count, 'product')} for market ${JSON.stringify(key.market_id)}`,
    written: formatProgress(key),
    failure: key.failure,
    payload: payload.usable
      ? `${payload.bytes} bytes, "${payload.name}", ${payload.date}, ${payload.currency_iso}`
      : `unusable, ${payload.reason}: the attempt can only be released`,
    fingerprint: key.fingerprint,
    request: key.document_id,
    'cost list': key.expected_forward_cost_id,
    'price list': key.price_list_id,
    answer: key.response,
    actions: joinLines(
      actions.map(
        ({ action, at: time, by, reason }) => `${action} ${formatTime(time)} by ${by}: ${reason ?? 'no reason given'}`,
      ),
    ),
    history: joinLines(
      history.map(({ document_id, claimed_at }) => `request ${document_id}, claimed ${formatTime(claimed_at)}`),
    ),
  });
}

function formatFields(title: string, lines: Readonly<Record<string, string | null>>): string {
  const shown = Object.entries(lines).filter(([, text]) => text !== null);
  const body = shown.map(([label, text]) => `    ${styleText('dim', label.padEnd(12))}${text ?? ''}`);
  return [`  ${styleText('bold', title)}`, ...body, ''].join('\n');
}

const joinLines = (lines: readonly string[]): string | null =>
  lines.length === 0 ? null : lines.join(`\n${' '.repeat(16)}`);

function formatStatus({ status, since, lease_expires_at }: KeySummary, now: number): string {
  const lease =
    now < lease_expires_at ? `, at work until ${formatTime(lease_expires_at)} at the latest` : ', past its lease';
  const awaits = status === 'requires_review' || (status === 'processing' && now >= lease_expires_at);
  const styled = styleText(awaits ? 'red' : status === 'completed' ? 'green' : 'yellow', status);
  return `${styled} since ${formatTime(since)} (${formatAge(now - since)} ago)${status === 'processing' ? lease : ''}`;
}

function formatProgress({ expected_forward_cost, price_list, products_count }: KeySummary): string {
  if (expected_forward_cost === null || price_list === null) return 'no lists: no market matched';
  const list = ({ entries, status }: ListProgress, name: string) =>
    `${entries} of ${products_count} ${name} (${status ?? 'no parent'})`;
  return `${list(expected_forward_cost, 'expected forward costs')}, ${list(price_list, 'prices')}`;
}

const count = (number: number, thing: string) => `${number} ${thing}${number === 1 ? '' : 's'}`;

const formatTime = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').slice(0, 19);

function formatAge(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`;
}

const BAR_WIDTH = 40;

/** A bar that grows while entries are written; on what is no terminal, nothing. */
export class ProgressBar {
  #total = 0;
  #done = 0;

  constructor(private readonly stream: NodeJS.WriteStream) {}

  start(total: number): void {
    this.#total = total;
    this.#draw();
  }

  advance(entries: number): void {
    this.#done += entries;
    this.#draw();
  }

  end(): void {
    if (this.stream.isTTY) this.stream.write('\n');
  }

  #draw(): void {
    if (!this.stream.isTTY) return;
    const part = this.#total === 0 ? 1 : this.#done / this.#total;
    const bar = '█'.repeat(Math.round(part * BAR_WIDTH)).padEnd(BAR_WIDTH, '░');
    this.stream.write(`\r  ${bar} ${this.#done} of ${this.#total} entries`);
  }
}
