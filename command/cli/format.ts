import { styleText } from 'node:util';
import { UNRESOLVED_STATUSES } from '../records/find';
import { collections } from '../../functions/src/lib/firestore/collections';
import { keyDocumentId, type KeyRecord } from '../../functions/src/lib/schemas/key-record';
import { needsOperator, type KeyDetails, type KeySummary, type ListProgress, type NextStep } from './facts';
import type { TargetOptions } from './target';
import {
  count,
  escapeControls,
  escapeJsonControls,
  formatNumber,
  getProgram,
  quote,
  quoteForShell,
  quoteId,
} from './text';

/** Formats the facts about a key as text for an operator. */

/**
 * @param limit maximum number of keys to show
 * @param isDefault true for the unresolved keys without an attempt in progress, false for keys that an option selected
 */
export function formatKeys(keys: readonly KeySummary[], limit: number, isDefault: boolean, now: number): string {
  const title = isDefault ? formatUnresolved(keys) : count(keys.length, 'key');
  if (keys.length === 0) return `${title}.\n`;
  const causes = isDefault && keys.length > 1 ? `${formatCauses(keys, now)}\n` : '';
  const shown = keys.slice(0, limit).map((key) => {
    // `list` does not read the payload, so it cannot tell whether the attempt can be resumed, or only released.
    const next =
      key.next && (needsOperator(key) ? '`show` says whether to resume or release this key' : NEXT_STEPS[key.next]);
    return formatFields(key, now, { ...getCommonFields(key), next });
  });
  return `${title}, oldest first.\n\n${causes}${shown.join('\n')}`;
}

function formatUnresolved(keys: readonly KeySummary[]): string {
  const left = keys.filter(needsOperator).length;
  const due = keys.length - left;
  const parts = [
    left > 0 && `${count(left, 'key')} ${left === 1 ? 'needs' : 'need'} an operator`,
    due > 0 && `${count(due, 'key')} ${due === 1 ? 'waits' : 'wait'} for the sweep`,
  ];
  return parts.filter(Boolean).join(', ') || 'No readable key needs an operator';
}

/** Returns a line for each cause of a failure: its number of keys, and the range of their ages. */
function formatCauses(all: readonly KeySummary[], now: number): string {
  const causes = Map.groupBy(all, ({ failure_cause }) => String(failure_cause));
  const lines = [...causes].map(([cause, keys]) => {
    const ages = keys.map(({ since }) => now - since);
    const range = [ages.reduce((a, b) => Math.min(a, b)), ages.reduce((a, b) => Math.max(a, b))].map(formatAge);
    return formatLine(cause, `  ${count(keys.length, 'key')}, ${[...new Set(range)].join(' to ')} old`);
  });
  return `${lines.join('\n')}\n`;
}

/**
 * Says how to see all keys. If no option selected them, and some need an operator, also says how to list the keys with the
 * most frequent cause among these, because one command can resume all keys with the same cause.
 */
export function formatRest(
  keys: readonly KeySummary[],
  limit: number,
  isDefault: boolean,
  options: TargetOptions,
): string {
  const total = keys.length;
  const rest = `The oldest ${formatNumber(limit)} of ${count(total, 'key')} are shown. Add --limit ${total} to see all.\n`;
  const byCause = Map.groupBy(keys.filter(needsOperator), ({ failure_cause }) => failure_cause);
  const [[cause] = []] = [...byCause].sort(([, a], [, b]) => b.length - a.length);
  if (!isDefault || cause === undefined || cause === null) return rest;
  return `${rest}The most frequent cause among the keys that need an operator is ${cause}. List the keys with this cause: ${formatVerb('resume', options)} --dry-run --cause ${cause}\n`;
}

/** Says how many attempts are in progress, and when the last lease expires. By default `list` omits the keys of these attempts. */
export function formatInProgress(records: readonly KeyRecord[]): string {
  if (records.length === 0) return 'No attempt is in progress.\n';
  const until = formatTime(records.reduce((latest, { lease_expires_at }) => Math.max(latest, lease_expires_at), 0));
  const [are, last] = records.length === 1 ? ['is', 'Its lease'] : ['are', 'The last lease'];
  return `${count(records.length, 'attempt')} ${are} in progress. ${last} lasts until ${until}.\n`;
}

const getCommonFields = (key: KeySummary) => ({
  hash: keyDocumentId(key.boq_list_id),
  lists: key.market_found
    ? `${count(key.products_count, 'product')} for market ${quote(key.market_id)}`
    : `no lists, because no market matched ${quote(key.market_id)}`,
  currency: key.currency_differs
    ? `The request named a different currency. The lists use the market's, ${key.currency}, without conversion.`
    : null,
  'sweep due': key.next === 'sweep' && key.sweep_due_at !== null ? formatTime(key.sweep_due_at) : null,
  // The earlier failure of a completed key is only in the JSON.
  failure: key.status === 'completed' ? null : key.failure,
});

export function formatKeyDetails(key: KeyDetails, now: number): string {
  const { payload, earlier, actions, failure_cause, failed_tries } = key;
  return formatFields(key, now, {
    claimed: formatTime(key.claimed_at),
    ...getCommonFields(key),
    written: formatProgress(key),
    cause: key.status === 'completed' ? null : failure_cause,
    tries:
      failed_tries === 0 || key.status === 'completed'
        ? null
        : `${failed_tries} failed since the claim or the last resume by an operator`,
    payload: payload.usable
      ? `${count(payload.bytes, 'byte')}, ${quote(payload.name)}, ${payload.date}, ${payload.currency_iso}`
      : `unusable (${payload.reason})${UNRESOLVED_STATUSES.some((status) => status === key.status) ? ', so the attempt cannot be resumed' : ''}`,
    fingerprint: key.fingerprint,
    'document id': key.document_id,
    'request id': key.request_id,
    trace: key.trace_id,
    'api key': key.key_id,
    'cost list': key.expected_forward_cost_id,
    'price list': key.price_list_id,
    response: key.response === null ? null : escapeJsonControls(key.response),
    actions: actions.map(formatAction),
    earlier: earlier.map(
      ({ document_id, released }) => `document ${document_id}, released: ${JSON.stringify(released)}`,
    ),
  });
}

const formatAction = ({ action, at, by, reason }: KeyRecord['actions'][number]): string =>
  `${action} ${formatTime(at)} by ${by}: ${reason ?? 'no reason given'}`;

const NEXT_STEPS: Record<NonNullable<NextStep>, string> = {
  wait: 'wait while the attempt is in progress',
  sweep: 'wait for the sweep',
  resume: 'resume',
  release: 'release',
  send: 'the client can send the request again',
};

/** Returns the last line of `show`: the next command, or the next step if that is not a command. Empty for ready lists. */
export function formatNext({ boq_list_id, next }: KeyDetails, options: TargetOptions): string {
  if (next === null) return '';
  const verb = next === 'release' ? `release --reason '…'` : next;
  const isCommand = next === 'resume' || next === 'release';
  return `\nNext: ${isCommand ? formatCommand(verb, boq_list_id, options) : NEXT_STEPS[next]}\n`;
}

/** The text beside a label, in one line or several; null omits the label. {@link formatFields} escapes the text. */
type Field = string | readonly string[] | null;

const LABEL_WIDTH = 12;

function formatFields(key: KeySummary, now: number, fields: Readonly<Record<string, Field>>): string {
  const lines = Object.entries(fields).flatMap(([label, field]) => {
    const texts = field === null ? [] : typeof field === 'string' ? [field] : field;
    return texts.map((text, i) => formatLine(i === 0 ? label : '', escapeControls(text)));
  });
  const title = `  ${styleText('bold', quoteId(key.boq_list_id))}`;
  return [title, ...formatStatus(key, now), ...lines, ''].join('\n');
}

const formatLine = (label: string, text: string): string => `    ${styleText('dim', label.padEnd(LABEL_WIDTH))}${text}`;

function formatStatus({ status, since, lease_expires_at }: KeySummary, now: number): string[] {
  const isExpired = now >= lease_expires_at;
  const lease = formatLine('lease', `${isExpired ? 'expired at' : 'until'} ${formatTime(lease_expires_at)}`);
  const colors = {
    processing: isExpired ? 'red' : 'yellow',
    requires_review: 'red',
    completed: 'green',
    released: 'yellow',
  } as const;
  const styled = styleText(colors[status], status);
  const line = formatLine('status', `${styled} since ${formatTime(since)} (${formatAge(now - since)} ago)`);
  return status === 'processing' ? [line, lease] : [line];
}

function formatProgress({ expected_forward_cost, price_list, products_count }: KeyDetails): Field {
  if (expected_forward_cost === null || price_list === null) return null;
  const format = ({ entries, status }: ListProgress, name: string) =>
    `${formatNumber(entries)} of ${formatNumber(products_count)} ${name} (${status ?? 'no valid status'})`;
  return [format(expected_forward_cost, 'expected forward costs'), format(price_list, 'prices')];
}

/** A stored time can be outside the range of Date. */
export const formatTime = (ms: number): string =>
  Number.isNaN(new Date(ms).getTime())
    ? `time ${ms}`
    : `${new Date(ms).toISOString().replace('T', ' ').slice(0, 19)} UTC`;

function formatAge(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`;
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`;
}

/**
 * Returns a command that names a key by the path of its record, which matches no other key and needs no quotes in any shell.
 *
 * @param options name the target of the command
 */
export const formatCommand = (verb: string, boqListId: string, options: TargetOptions): string =>
  formatDocumentCommand(verb, `${collections.priceListIdempotency}/${keyDocumentId(boqListId)}`, options);

/** Returns a command for a record whose path has only letters, digits, hyphens, underscores and slashes. */
export const formatDocumentCommand = (verb: string, path: string, options: TargetOptions): string =>
  `${formatVerb(verb, options)} ${path}`;

function formatVerb(verb: string, { project, database }: TargetOptions): string {
  const named = Object.entries({ project, database }).map(([name, value]) =>
    value === undefined ? '' : ` --${name} ${quoteForShell(value)}`,
  );
  return `${getProgram()} ${verb}${named.join('')}`;
}
