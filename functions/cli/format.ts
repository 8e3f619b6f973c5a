import { styleText } from 'node:util';
import type { Database } from '../src/lib/firestore/database';
import { keyDocumentId, type ListKind } from '../src/lib/repositories/price-lists';
import { countEntries, readListStatuses, type ListProgress } from '../src/lib/repositories/stored-price-lists';
import type { KeyRecord } from '../src/lib/schemas/key-record';
import { getSweepDueAt } from '../src/price-lists/key-state-machine';
import type { StoredPayload } from '../src/price-lists/stored-payload';
import type { SweepResult } from '../src/price-lists/sweep';
import { escapeControls, escapeJsonControls, quote } from './escape';

/** What an operator sees of a key: its facts for programs, and as text. */

/** What `list` shows of a key. Times are Unix milliseconds. */
export type KeySummary = Awaited<ReturnType<typeof getKeySummary>>;

/** What `show` shows of a key. */
export type KeyDetails = Awaited<ReturnType<typeof getKeyDetails>>;

/** @param statuses of the lists of the key, and perhaps of others */
export async function getKeySummary(record: KeyRecord, statuses: ReadonlyMap<string, string | null>, db: Database) {
  const { boq_list_id, status, market_id, products_count, creation, updated_at: since } = record;
  const { claimed_at, lease_expires_at, failure, failure_cause } = record;
  const readProgress = async (kind: ListKind): Promise<ListProgress | null> => {
    if (creation === null) return null;
    return { status: statuses.get(creation[`${kind}_id`]) ?? null, entries: await countEntries(db, kind, creation) };
  };
  const [expected_forward_cost, price_list] = await Promise.all([
    readProgress('expected_forward_cost'),
    readProgress('price_list'),
  ]);
  const attempt = { boq_list_id, status, market_id, products_count, expected_forward_cost, price_list };
  const sweep_due_at = getSweepDueAt(record);
  return { ...attempt, claimed_at, since, lease_expires_at, sweep_due_at, failure, failure_cause };
}

export async function getKeyDetails(record: KeyRecord, payload: StoredPayload, db: Database) {
  const { document_id, creation, fingerprint, response, automatic_resumes, history, actions } = record;
  return {
    ...(await getKeySummary(record, await readListStatuses(db, creation === null ? [] : [creation]), db)),
    document_id,
    expected_forward_cost_id: creation?.expected_forward_cost_id ?? null,
    price_list_id: creation?.price_list_id ?? null,
    fingerprint,
    payload: summarizePayload(payload),
    response,
    automatic_resumes,
    history,
    actions,
  };
}

function summarizePayload(payload: StoredPayload) {
  if (payload.kind === 'invalid') return { usable: false as const, reason: payload.reason };
  const { name, date, currency_iso } = payload.submission.info;
  return { usable: true as const, bytes: payload.text.length, name, date, currency_iso };
}

/** Whether the owner of an attempt may still be at work. */
export const isInProgress = ({ status, lease_expires_at }: KeyRecord, now: number): boolean =>
  status === 'processing' && now < lease_expires_at;

export function formatKeys(keys: readonly KeySummary[], isReviewOnly: boolean, now: number): string {
  if (keys.length === 0) return isReviewOnly ? 'No key requires review.\n' : 'No key has one of these statuses.\n';
  const [requires, has] = keys.length === 1 ? ['requires', 'has'] : ['require', 'have'];
  const what = isReviewOnly ? `${requires} review` : `${has} one of these statuses`;
  const title = `${count(keys.length, 'key')} ${what}, oldest first.`;
  return `${title}\n\n${keys.map((key) => formatFields(key, now, getCommonFields(key))).join('\n')}`;
}

/** What `list` does not list: attempts in progress, and when the last of their leases ends. */
export function formatInProgress(records: readonly KeyRecord[]): string {
  if (records.length === 0) return 'No attempt is in progress.\n';
  const until = formatTime(Math.max(...records.map(({ lease_expires_at }) => lease_expires_at)));
  return records.length === 1
    ? `1 attempt is in progress; its lease lasts until ${until} unless it is renewed.\n`
    : `${records.length} attempts are in progress; the last of their leases lasts until ${until} unless it is renewed.\n`;
}

const getCommonFields = (key: KeySummary) => ({
  lists: `${count(key.products_count, 'product')} for market ${quote(key.market_id)}`,
  written: formatProgress(key),
  'sweep due': key.sweep_due_at === null ? null : formatTime(key.sweep_due_at),
  // What a completed key got over is history.
  failure: key.status === 'completed' ? null : key.failure,
});

export function formatKeyDetails(key: KeyDetails, now: number): string {
  const { payload, history, actions, failure_cause, automatic_resumes } = key;
  return formatFields(key, now, {
    claimed: formatTime(key.claimed_at),
    ...getCommonFields(key),
    cause: key.status === 'completed' ? null : failure_cause,
    swept: automatic_resumes === 0 ? null : count(automatic_resumes, 'resume'),
    payload: payload.usable
      ? `${payload.bytes} bytes, ${quote(payload.name)}, ${payload.date}, ${payload.currency_iso}`
      : `unusable, ${payload.reason}: the attempt can only be released`,
    fingerprint: key.fingerprint,
    request: key.document_id,
    'cost list': key.expected_forward_cost_id,
    'price list': key.price_list_id,
    response: key.response === null ? null : escapeJsonControls(key.response),
    actions: actions.map(
      ({ action, at, by, reason }) => `${action} ${formatTime(at)} by ${by}: ${reason ?? 'no reason given'}`,
    ),
    history: [
      ...history.map(({ document_id, claimed_at }) => `request ${document_id}, claimed ${formatTime(claimed_at)}`),
      ...(key.status === 'completed' && key.failure !== null ? [`an earlier failure: ${key.failure}`] : []),
    ],
  });
}

/** One line of `sweep`. */
export function formatSweepResult({ time, boq_list_id, result, reason }: SweepResult & { time: number }): string {
  const text = {
    resumed: 'ready',
    would_resume: 'would resume',
    left: 'left to an operator',
    deferred: 'not yet ready',
  };
  const suffix = reason === null ? '' : `: ${escapeControls(reason)}`;
  return `${formatTime(time)}  ${quote(boq_list_id)} ${text[result]}${suffix}\n`;
}

/** A label's text, or several lines of it; null is left out. Stored text is escaped here and in {@link quote}. */
type Field = string | readonly string[] | null;

const LABEL_WIDTH = 12;

function formatFields(key: KeySummary, now: number, fields: Readonly<Record<string, Field>>): string {
  const lines = Object.entries(fields).flatMap(([label, field]) => {
    const texts = field === null ? [] : typeof field === 'string' ? [field] : field;
    return texts.map((text, i) => formatLine(i === 0 ? label : '', escapeControls(text)));
  });
  const title = `  ${styleText('bold', quote(key.boq_list_id))}`;
  return [title, formatLine('status', formatStatus(key, now)), ...lines, ''].join('\n');
}

const formatLine = (label: string, text: string): string => `    ${styleText('dim', label.padEnd(LABEL_WIDTH))}${text}`;

function formatStatus({ status, since, lease_expires_at }: KeySummary, now: number): string {
  const lease = now < lease_expires_at ? `, lease until ${formatTime(lease_expires_at)}` : ', lease expired';
  const awaits = status === 'requires_review' || (status === 'processing' && now >= lease_expires_at);
  const styled = styleText(awaits ? 'red' : status === 'completed' ? 'green' : 'yellow', status);
  return `${styled} since ${formatTime(since)} (${formatAge(now - since)} ago)${status === 'processing' ? lease : ''}`;
}

function formatProgress({ expected_forward_cost, price_list, products_count }: KeySummary): string {
  if (expected_forward_cost === null || price_list === null) return 'no lists: no market matched';
  const list = ({ entries, status }: ListProgress, name: string) =>
    `${entries} of ${products_count} ${name} (${status ?? 'no list document'})`;
  return `${list(expected_forward_cost, 'expected forward costs')}, ${list(price_list, 'prices')}`;
}

export const count = (number: number, thing: string) =>
  `${number.toLocaleString('en')} ${thing}${number === 1 ? '' : 's'}`;

const formatTime = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').slice(0, 19);

function formatAge(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`;
}

/** A command as it is typed at a shell. @param id of a key, whose hash is taken if it cannot be typed */
export function formatCommand(verb: string, id: string | undefined, project: string | undefined): string {
  const words = ['npm run price-lists --', verb];
  if (project !== undefined) words.push('--project', quoteForShell(project));
  if (id !== undefined) words.push(quoteForShell(escapeControls(id) === id ? id : keyDocumentId(id)));
  return words.join(' ');
}

const quoteForShell = (word: string): string =>
  /^[\w@%+=:,./][\w@%+=:,./-]*$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
