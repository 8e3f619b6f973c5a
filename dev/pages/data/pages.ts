import type { DocumentSnapshot } from '@google-cloud/firestore';
import { html, type Content, type Html } from '../html';
import { renderShell } from '../shell';
import { collections } from '../../../functions/src/lib/firestore/collections';
import { keyDocumentId } from '../../../functions/src/lib/schemas/key-record';
import type { AcceptedRequest } from '../../../command/records/requests';
import { isServed } from './collections';
import type { CollectionPage, CollectionSize, CollectionView } from './data-source';
import { DATA_ROOT, toDataUrl } from './urls';
import { formatCell, formatFields, shorten, type FindLink } from './values';

/** Renders the data pages. They have no script. */

const MAX_COLUMNS = 8;

/** The length up to which an id is shown in full: longer than an id that Firestore generates, and shorter than a SHA-256 in hex. */
const MAX_ID_TEXT = 24;

export function renderOverview(
  sizes: readonly CollectionSize[],
  newest: readonly AcceptedRequest[],
  findLink: FindLink,
): Html {
  if (sizes.length === 0) return renderMessage('Data', 'The database is empty.');
  const requests = html`<h2>Newest price lists</h2>
    ${renderRequests(newest, findLink)}
    <p><a href="${toDataUrl(collections.priceListRequests)}">All price lists →</a></p>`;
  return renderPage('', 'Data', html`${newest.length > 0 ? requests : undefined} ${renderSizes(sizes)}`);
}

const renderSizes = (sizes: readonly CollectionSize[]): Content =>
  sizes.length === 0
    ? undefined
    : html`<h2>Collections</h2>
        <ul>
          ${sizes.map(({ path, count }) => html`<li><a href="${toDataUrl(path)}">${path}</a>: ${formatCount(count)}</li>`)}
        </ul>`;

/** @param rows the documents of the page, if they are accepted requests */
export function renderCollection(
  page: CollectionPage,
  view: CollectionView,
  findLink: FindLink,
  rows?: readonly AcceptedRequest[],
): Html {
  const { path, count, next } = page;
  const { filter, sort } = view;
  const facts = [
    formatCount(count),
    filter && `${filter.field}: ${filter.value}`,
    sort && `sorted by ${sort.field}, ${sort.direction === 'asc' ? 'ascending' : 'descending'}`,
  ];
  const nextLink =
    next && html`<p><a rel="next" href="${toDataUrl(path, { ...view, from: next })}">Next page →</a></p>`;
  const table = rows === undefined ? renderDocuments(page, findLink, view) : renderRequests(rows, findLink, view);
  const body = html`<p>${facts.filter((fact) => fact !== undefined).join('; ')}</p>
    ${table} ${nextLink}`;
  return renderPage(path, getCollectionGroup(path), body);
}

/** Renders what an id leads to: requests with their keys and lists, and documents that have the id. */
export function renderFound(
  id: string,
  rows: readonly AcceptedRequest[],
  paths: readonly string[],
  findLink: FindLink,
): Html {
  const documents = paths.map((path) => html`<li><a href="${toDataUrl(path)}">${path}</a></li>`);
  const list = html`<h2>Documents with this id</h2>
    <ul>
      ${documents}
    </ul>`;
  const nothing = html`<p>No accepted request and no document has this id.</p>`;
  const body = html`${rows.length > 0 ? renderRequests(rows, findLink) : undefined}
  ${documents.length > 0 ? list : undefined} ${rows.length + documents.length === 0 ? nothing : undefined}`;
  return renderPage('', `Found: ${shorten(id, MAX_ID_TEXT)}`, body);
}

/** @param rows the requests that the document belongs to */
export function renderDocument(
  document: DocumentSnapshot,
  subcollections: readonly CollectionSize[],
  findLink: FindLink,
  rows: readonly AcceptedRequest[],
): Html {
  const fields = document.data();
  const body = html`${rows.length > 0 ? renderRequests(rows, findLink) : undefined}
  ${fields === undefined ? html`<p>Only subcollections exist here.</p>` : formatFields(fields)}
  ${renderSizes(subcollections)}`;
  return renderPage(document.ref.path, document.id, body);
}

/** The columns of {@link renderRequests} after the status, each head with its stored field. */
const REQUEST_COLUMNS = {
  name: 'info.name',
  month: 'info.date',
  market: 'market_id',
  sender: 'key_id',
  products: 'products_count',
  created: 'created_at',
};

/** The fields that {@link renderRequests} shows, `info` only in part. The page lists the other fields as hidden. */
const REQUEST_FIELDS = ['info', 'price_list_id', 'expected_forward_cost_id', ...Object.values(REQUEST_COLUMNS)];

/** Renders accepted requests, each with links to its key, its record and its lists. */
function renderRequests(requests: readonly AcceptedRequest[], findLink: FindLink, view?: CollectionView): Html {
  const path = collections.priceListRequests;
  const columns = Object.entries(REQUEST_COLUMNS);
  const rows = requests.map(({ request, row }) => {
    const id = row.boq_list_id ?? '';
    const link = (text: string, collection: string, linked: string | null) =>
      linked !== null ? html`<a href="${toDataUrl(`${collection}/${linked}`)}">${text}</a> ` : undefined;
    return [
      link(shorten(id, MAX_ID_TEXT), collections.priceListIdempotency, keyDocumentId(id)),
      renderStatus(collections.priceListIdempotency, row.status),
      ...columns.map(([, field]) => formatCell(field, request.get(field), findLink)),
      [
        link('request', path, request.id),
        link('prices', collections.priceLists, row.price_list_id),
        link('costs', collections.expectedForwardCosts, row.expected_forward_cost_id),
      ],
    ];
  });
  const heads = columns.map(([head, field]) => renderHead(path, head, view, field));
  const documents = requests.map(({ request }) => request);
  return renderTable(['boq_list_id', 'status', ...heads, 'documents'], rows, documents, REQUEST_FIELDS);
}

/** @param view the filter of the page, and its order, which the heads of the columns change */
function renderDocuments({ path, documents }: CollectionPage, findLink: FindLink, view: CollectionView): Html {
  const names = selectColumns(documents);
  const rows = documents.map((document) => {
    const fields = document.data() ?? {};
    const cells = names.map((name) => {
      // The snapshot's own `get` also finds what every object inherits, such as `constructor`.
      const value: unknown = Object.hasOwn(fields, name) ? fields[name] : undefined;
      return name === 'status' ? renderStatus(path, value) : formatCell(name, value, findLink);
    });
    return [html`<a href="${toDataUrl(document.ref.path)}">${shorten(document.id, MAX_ID_TEXT)}</a>`, ...cells];
  });
  return renderTable(['id', ...names.map((name) => renderHead(path, name, view))], rows, documents, names);
}

/**
 * Renders a table, and names the fields of its documents that it does not show. The table can be wider than the screen, so it takes
 * the focus, and the keyboard can scroll it.
 */
function renderTable(
  heads: readonly Content[],
  rows: readonly (readonly Content[])[],
  documents: readonly DocumentSnapshot[],
  shown: readonly string[],
): Html {
  const fields = new Set(documents.flatMap((document) => Object.keys(document.data() ?? {})));
  const hidden = [...fields].filter((field) => !shown.includes(field)).sort();
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
    </div>
    ${hidden.length === 0 ? undefined : html`<p>Not shown here: ${hidden.join(', ')}</p>`}`;
}

/**
 * Renders the head of a column. It is a link to the view sorted by the column: of descending and ascending order, the first that an
 * index serves and that is not the current one. If there is no such order, or no view, the head is plain text.
 *
 * @param field the stored field of the column
 */
function renderHead(path: string, head: string, view: CollectionView | undefined, field = head): Content {
  const current = view?.sort?.field === field ? view.sort.direction : undefined;
  const sort = (['desc', 'asc'] as const)
    .filter((direction) => direction !== current)
    .map((direction) => ({ field, direction }))
    .find((each) => isServed(getCollectionGroup(path), view?.filter?.field, each));
  if (view === undefined || sort === undefined) return head;
  const arrow = current === undefined ? '' : current === 'desc' ? '↓' : '↑';
  return html`<a href="${toDataUrl(path, { filter: view.filter, sort })}">${head}</a> ${arrow}`;
}

const getCollectionGroup = (path: string): string => path.split('/').at(-1) ?? '';

/** Renders a status as a link to the documents that have it. */
function renderStatus(path: string, value: unknown): Content {
  if (typeof value !== 'string' && typeof value !== 'number') return '–';
  const url = toDataUrl(path, { filter: { field: 'status', value: JSON.stringify(value) } });
  return html`<a class="status" data-status="${value}" href="${url}">${value}</a>`;
}

/** Selects the most frequent fields of the documents, the status first. */
function selectColumns(documents: readonly DocumentSnapshot[]): string[] {
  const counts = new Map<string, number>();
  for (const document of documents)
    for (const field of Object.keys(document.data() ?? {}))
      counts.set(field, (counts.get(field) ?? 0) + (field === 'status' ? Infinity : 1));
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_COLUMNS)
    .map(([field]) => field);
}

const formatCount = (count: number): string => `${count.toLocaleString('en')} document${count === 1 ? '' : 's'}`;

export const renderMessage = (title: string, message: string): Html => renderPage('', title, html`<p>${message}</p>`);

function renderPage(path: string, title: string, body: Html): Html {
  const segments = path === '' ? [] : path.split('/');
  const trail = segments.map(
    (segment, i) => html` / <a href="${toDataUrl(segments.slice(0, i + 1).join('/'))}">${segment}</a>`,
  );
  return renderShell({
    title,
    section: 'Data',
    body: html`<main id="content">
      <div class="bar">
        <nav aria-label="Path"><a href="${DATA_ROOT}">Data</a>${trail}</nav>
        <form action="${DATA_ROOT}">
          <label>
            Find any id
            <input name="find" autocomplete="off" spellcheck="false" required />
          </label>
          <button>Find</button>
        </form>
      </div>
      <h1>${title}</h1>
      ${body}
    </main>`,
  });
}
