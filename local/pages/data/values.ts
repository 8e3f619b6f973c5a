import { html, type Content, type Html } from '../html';
import { getLinkedCollection } from './collections';
import { toDataUrl, toFindUrl } from './urls';

/** Formats stored values for the data pages. */

const MAX_TEXT = 4_000;
const MAX_CELL_TEXT = 32;
const MAX_ENTRIES = 200;

/** A stored time lies between 1973 and the last moment of a `Date`. */
const MIN_TIME_MS = 100_000_000_000;
const MAX_TIME_MS = 8_640_000_000_000_000;

/** Whether a number is a time in Unix milliseconds: an integer between these moments, in a field whose name ends in `_at`. */
export const isTime = (field: string, value: number): boolean =>
  field.endsWith('_at') && Number.isSafeInteger(value) && value > MIN_TIME_MS && value <= MAX_TIME_MS;

/** Returns the page of the document that a field such as `author_id` names, if its collection exists. */
export type FindLink = (field: string, value: string) => string | undefined;

export const createFindLink =
  (collections: readonly string[]): FindLink =>
  (field, value) => {
    if (field === 'boq_list_id') return toFindUrl(value);
    const collection = getLinkedCollection(field);
    return collection !== undefined && collections.includes(collection)
      ? toDataUrl(`${collection}/${value}`)
      : undefined;
  };

/** Formats a value as one line for a cell of a table. */
export function formatCell(field: string, value: unknown, findLink: FindLink): Content {
  if (value === undefined) return html`<span class="quiet">–</span>`;
  if (Array.isArray(value)) return html`<span class="quiet">${formatCount(value.length, 'item')}</span>`;
  if (isMap(value)) return shorten(summarizeMap(value), MAX_CELL_TEXT);
  return formatScalar(field, value, MAX_CELL_TEXT, findLink);
}

/** Formats a whole value, with the content of maps and arrays. */
export function formatValue(field: string, value: unknown, findLink: FindLink): Html {
  if (Array.isArray(value)) {
    if (value.length === 0) return html`<span class="quiet">empty array</span>`;
    return formatEntries(
      value.map((item: unknown, i) => [String(i), item]),
      (_, item) => formatValue(field, item, findLink),
    );
  }
  if (isMap(value)) {
    if (Object.keys(value).length === 0) return html`<span class="quiet">empty map</span>`;
    return formatEntries(Object.entries(value), (name, item) => formatValue(name, item, findLink));
  }
  return formatScalar(field, value, MAX_TEXT, findLink);
}

function formatEntries(entries: [string, unknown][], format: (name: string, item: unknown) => Html): Html {
  const rows = entries.slice(0, MAX_ENTRIES).map(
    ([name, item]) =>
      html`<tr>
        <th scope="row">${name}</th>
        <td>${format(name, item)}</td>
      </tr>`,
  );
  const hidden = entries.length - rows.length;
  const rest = hidden > 0 ? html`<p class="quiet">… and ${formatNumber(hidden)} more</p>` : undefined;
  return html`<table class="fields">
      <tbody>
        ${rows}
      </tbody>
    </table>
    ${rest}`;
}

function formatScalar(field: string, value: unknown, maxText: number, findLink: FindLink): Html {
  if (typeof value === 'string') {
    if (value === '') return html`<span class="quiet">empty string</span>`;
    const link = findLink(field, value);
    if (maxText === MAX_CELL_TEXT) return linkTo(link, shorten(value, maxText));
    const json = formatJson(value);
    if (json !== undefined) return html`<pre>${truncate(json, maxText)}</pre>`;
    return linkTo(link, truncate(value, maxText));
  }
  if (typeof value === 'number') {
    const text = isTime(field, value) ? formatTime(new Date(value)) : String(value);
    return html`<span class="${isTime(field, value) ? 'time' : 'number'}" title="${value}">${text}</span>`;
  }
  if (value instanceof Uint8Array) return html`<span class="quiet">${formatCount(value.length, 'byte')}</span>`;
  return html`<span class="quiet">${String(value)}</span>`;
}

/** Whether a value is a map and not an instance of a class, such as a timestamp. */
function isMap(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const summarizeMap = (map: Record<string, unknown>): string =>
  Object.entries(map)
    .map(([name, value]) => `${name}: ${typeof value === 'object' && value !== null ? '…' : String(value)}`)
    .join(', ');

const linkTo = (url: string | undefined, text: string): Html =>
  url === undefined ? html`${text}` : html`<a href="${url}">${text}</a>`;

/** Formats a string that is a JSON object or array, such as a stored response. Returns undefined for others. */
function formatJson(text: string): string | undefined {
  if (!/^[{[]/.test(text)) return undefined;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return undefined;
  }
}

export const shorten = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`);

const truncate = (text: string, max: number) =>
  text.length <= max ? text : `${text.slice(0, max)}… (${formatNumber(text.length)} characters)`;

const formatTime = (time: Date) => time.toISOString().replace('T', ' ').replace('Z', ' UTC');

export const formatNumber = (value: number): string => value.toLocaleString('en');

export const formatCount = (count: number, noun: string): string =>
  `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
