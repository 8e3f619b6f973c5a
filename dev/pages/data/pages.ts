import { inspect } from 'node:util';
import { DocumentReference, type DocumentSnapshot } from '@google-cloud/firestore';
import { html, type Content, type Html } from '../html';
import { renderShell } from '../shell';
import { escapeControls, escapeJsonControls } from '../../../command/cli/text';
import type { RequestRow } from '../../../command/records/accepted-requests';
import { collections } from '../../../functions/src/lib/firestore/collections';
import { keyDocumentId } from '../../../functions/src/lib/schemas/key-record';
import { MAX_DOCUMENTS, type CollectionSize } from './records';

/** Renders the data pages. They have no script. Control characters of stored texts are escaped, as in the operator's command. */

const ROOT = '/data';

/** The length to which {@link shorten} cuts an id: longer than an id that Firestore generates, and shorter than a SHA-256 in hex. */
const MAX_ID_TEXT = 24;

const MAX_FIELDS_TEXT = 160;

export function renderOverview(sizes: readonly CollectionSize[], newest: readonly RequestRow[]): Html {
  if (sizes.length === 0) return renderMessage('Data', 'The database is empty.');
  const requests = html`<h2>Newest price lists</h2>
    ${renderRequests(newest)}`;
  return renderPage([], 'Data', html`${newest.length > 0 ? requests : undefined} ${renderSizes(sizes)}`);
}

const renderSizes = (sizes: readonly CollectionSize[]): Content =>
  sizes.length === 0
    ? undefined
    : html`<h2>Collections</h2>
        <ul>
          ${sizes.map(({ path, count }) => html`<li>${renderLink(path)}: ${formatCount(count)}</li>`)}
        </ul>`;

/** @param requests the newest requests, if the documents are request records */
export function renderCollection(
  path: string,
  count: number,
  documents: readonly DocumentSnapshot[],
  requests: readonly RequestRow[] | undefined,
): Html {
  const order = requests === undefined ? 'in order of id' : 'newest first';
  const rest =
    count > MAX_DOCUMENTS
      ? `. Shows ${MAX_DOCUMENTS}, ${order}. To open another document, add its id to the address of this page.`
      : '';
  const body = html`<p>${formatCount(count)}${rest}</p>
    ${requests === undefined ? renderDocuments(documents) : renderRequests(requests)}`;
  return renderPage(path.split('/'), path.split('/').at(-1) ?? '', body);
}

/** Renders what an id leads to: requests with their keys and lists, and documents that have the id. */
export function renderFound(id: string, requests: readonly RequestRow[], paths: readonly string[]): Html {
  const list = html`<h2>Documents with this id</h2>
    <ul>
      ${paths.map((path) => html`<li>${renderLink(path)}</li>`)}
    </ul>`;
  const nothing = html`<p>This id leads to no accepted request, and to no document of a top-level collection.</p>`;
  const body = html`${requests.length > 0 ? renderRequests(requests) : undefined} ${paths.length > 0 ? list : undefined}
  ${requests.length + paths.length === 0 ? nothing : undefined}`;
  return renderPage([], `Found: ${shorten(id, MAX_ID_TEXT)}`, body);
}

/** @param requests the requests that the document belongs to */
export function renderDocument(
  document: DocumentSnapshot,
  subcollections: readonly CollectionSize[],
  requests: readonly RequestRow[],
): Html {
  const fields = document.data();
  const body = html`${requests.length > 0 ? renderRequests(requests) : undefined}
  ${fields === undefined ? html`<p>This document does not exist, but has subcollections.</p>` : renderFields(fields)}
  ${renderSizes(subcollections)}`;
  return renderPage(document.ref.path.split('/'), document.id, body);
}

/** Renders accepted requests, each with links to its key, its record and its lists. */
function renderRequests(requests: readonly RequestRow[]): Html {
  const rows = requests.map((row) => {
    const id = row.boq_list_id ?? '';
    const link = (text: string, collection: string, linked: string | null) =>
      linked === null ? undefined : html`${renderLink(`${collection}/${linked}`, text)} `;
    // A completion that created no lists, or lists in a currency other than the request's, shows its outcome, not `completed`.
    const status = row.outcome === null || row.outcome === 'created' ? (row.status ?? '–') : row.outcome;
    return [
      link(shorten(id, MAX_ID_TEXT), collections.priceListIdempotency, keyDocumentId(id)),
      html`<span class="status" data-status="${status}">${status}</span>`,
      ...[row.name, row.month, row.market_id, row.sender, row.products].map((value) => formatCell(value)),
      row.created_at === null ? '–' : formatTime(row.created_at),
      [
        link('request', collections.priceListRequests, row.document_id),
        link('prices', collections.priceLists, row.price_list_id),
        link('costs', collections.expectedForwardCosts, row.expected_forward_cost_id),
      ],
    ];
  });
  const heads = ['boq_list_id', 'status', 'name', 'month', 'market', 'sender', 'products', 'created', 'documents'];
  return renderTable(heads, rows);
}

const renderDocuments = (documents: readonly DocumentSnapshot[]): Html =>
  renderTable(
    ['id', 'fields'],
    documents.map((document) => [
      renderLink(document.ref.path, shorten(document.id, MAX_ID_TEXT)),
      shorten(inspect(toShown(document.data()), { breakLength: Infinity }), MAX_FIELDS_TEXT),
    ]),
  );

/** Renders a table. It can be wider than the screen, so it takes the focus, and the keyboard can scroll it. */
function renderTable(heads: readonly string[], rows: readonly (readonly Content[])[]): Html {
  return html`<div class="scroll" role="region" tabindex="0" aria-label="Documents">
    <table class="documents">
      <thead>
        <tr>
          ${heads.map((head) => html`<th>${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Renders the fields of a document. Bytes, long texts and long arrays are truncated. */
const renderFields = (fields: object): Html =>
  html`<pre class="code" tabindex="0">
${escapeJsonControls(inspect(toShown(fields), { depth: null, maxStringLength: 4_000 }))}</pre>`;

/** Formats times, and replaces references with their paths, because an inspection of a reference would print its client. */
function toShown(value: unknown, field = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => toShown(item));
  if (value instanceof DocumentReference) return value.path;
  if (typeof value === 'number' && field.endsWith('_at') && value >= MIN_TIME_MS) return formatTime(value);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toShown(item, name)]));
}

/** {@link toShown} leaves a smaller number unformatted. This time is in the year 1973. */
const MIN_TIME_MS = 100_000_000_000;

/** @returns the number itself if `Date` cannot represent the time */
function formatTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString().replace('T', ' ').replace('Z', ' UTC');
}

const formatCell = (value: string | number | null): string => (value === null ? '–' : shorten(String(value), 32));

const renderLink = (path: string, text = escapeControls(path)): Html =>
  html`<a href="${toUrl(path.split('/'))}">${text}</a>`;

const toUrl = (path: readonly string[]): string => [ROOT, ...path.map(encodeURIComponent)].join('/');

/** Cuts a stored text, and escapes its control characters. */
const shorten = (text: string, max: number): string =>
  escapeControls(text.length <= max ? text : `${text.slice(0, max)}…`);

const formatCount = (count: number): string => `${count.toLocaleString('en')} document${count === 1 ? '' : 's'}`;

export const renderMessage = (title: string, message: string): Html => renderPage([], title, html`<p>${message}</p>`);

function renderPage(path: readonly string[], title: string, body: Html): Html {
  const trail = path.map(
    (segment, i) => html` / <a href="${toUrl(path.slice(0, i + 1))}">${escapeControls(segment)}</a>`,
  );
  return renderShell({
    title: escapeControls(title),
    section: 'Data',
    body: html`<main id="content">
      <div class="bar">
        <nav aria-label="Path"><a href="${ROOT}">Data</a>${trail}</nav>
        <form action="${ROOT}">
          <label>
            Find an id
            <input name="find" autocomplete="off" spellcheck="false" required />
          </label>
          <button>Find</button>
        </form>
      </div>
      <h1>${escapeControls(title)}</h1>
      ${body}
    </main>`,
  });
}
