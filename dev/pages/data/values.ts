import { inspect } from 'node:util';
import { DocumentReference } from '@google-cloud/firestore';
import { html, type Content, type Html } from '../html';
import { getLinkedCollection } from './collections';
import { toDataUrl, toFindUrl } from './urls';

/** Formats stored values for the data pages. */

const MAX_CELL_TEXT = 32;

/** A number in this range can be a time. The range begins in 1973 and ends at the last moment of a `Date`. */
const MIN_TIME_MS = 100_000_000_000;
const MAX_TIME_MS = 8_640_000_000_000_000;

/** Returns whether a value is a time in Unix milliseconds: an integer in this range, in a field whose name ends in `_at`. */
const isTime = (field: string, value: unknown): value is number =>
  field.endsWith('_at') && Number.isSafeInteger(value) && Number(value) > MIN_TIME_MS && Number(value) <= MAX_TIME_MS;

/** Returns the address of the page that a field such as `team_id` leads to, if there is one. */
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
  if (value === undefined) return '–';
  if (isTime(field, value)) return new Date(value).toISOString().replace('T', ' ').replace('Z', ' UTC');
  if (typeof value !== 'string')
    return shorten(inspect(withDates(field, value), { breakLength: Infinity }), MAX_CELL_TEXT);
  const url = findLink(field, value);
  const text = shorten(value, MAX_CELL_TEXT);
  return url === undefined ? text : html`<a href="${url}">${text}</a>`;
}

/** Formats the fields of a document. Times are shown as dates, and bytes and long texts are truncated. */
export const formatFields = (fields: object): Html =>
  html`<pre class="code" tabindex="0">${inspect(withDates('', fields), { depth: null, maxStringLength: 4_000 })}</pre>`;

function withDates(field: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withDates(field, item));
  if (isMap(value))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withDates(name, item)]));
  // The inspection of a reference would print its client.
  if (value instanceof DocumentReference) return value.path;
  return isTime(field, value) ? new Date(value) : value;
}

/** Returns whether a value is a map and not an instance of a class, such as a timestamp. */
function isMap(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

export const shorten = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`);
