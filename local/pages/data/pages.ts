import type { DocumentSnapshot } from '@google-cloud/firestore';
import { html, type Content, type Html } from '../html';
import { renderShell } from '../shell';
import { collections } from '../../../functions/src/lib/firestore/collections';
import { keyDocumentId } from '../../../functions/src/lib/repositories/price-lists';
import { DESCRIPTIONS, FIRST_COLUMNS, isServed } from './collections';
import type { CollectionPage, CollectionView, DocumentPage } from './data-source';
import type { RequestRow } from './price-lists';
import { DATA_ROOT, toDataUrl } from './urls';
import { formatCell, formatCount, formatNumber, formatValue, isTime, shorten, type FindLink } from './values';

/** Renders the data pages. They have no script. */

const MAX_COLUMNS = 8;

/** Cuts a SHA-256 in hex, but not an id that Firestore generates. */
const MAX_ID_TEXT = 24;

/** @param newest the newest requests */
export function renderOverview(
  counts: readonly { collection: string; count: number }[],
  newest: readonly RequestRow[],
  findLink: FindLink,
): Html {
  if (counts.length === 0) return renderPage('', 'Collections', html`<p>The database is empty.</p>`);
  const descriptions: Readonly<Record<string, string>> = DESCRIPTIONS;
  const order = Object.keys(descriptions);
  const rows = counts
    .toSorted((a, b) => rank(order, a.collection) - rank(order, b.collection))
    .map(
      ({ collection, count }) =>
        html`<tr>
          <td><a href="${toDataUrl(collection)}">${collection}</a></td>
          <td class="right">${formatNumber(count)}</td>
          <td class="text">${Object.hasOwn(descriptions, collection) ? descriptions[collection] : undefined}</td>
        </tr>`,
    );
  const table = renderScrolling(
    html`<table class="documents">
      <thead>
        <tr>
          <th>Collection</th>
          <th class="right">Documents</th>
          <th>Contents</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>`,
    'Collections',
  );
  const requests = html`<h2>Newest price lists</h2>
    ${renderRequests(newest, findLink)}
    <p><a href="${toDataUrl(collections.priceListRequests)}">All price lists →</a></p>
    <h2>Collections</h2>`;
  return renderPage('', 'Data', html`${newest.length > 0 ? requests : undefined} ${table}`);
}

/** The position of a name in a list. Names that it lacks come last. */
const rank = (order: readonly string[], name: string): number =>
  order.includes(name) ? order.indexOf(name) : order.length;

/** @param rows the documents of the page, if they are accepted requests */
export function renderCollection(
  page: CollectionPage,
  view: CollectionView,
  findLink: FindLink,
  rows?: readonly RequestRow[],
): Html {
  const { path, count, next } = page;
  const { filter, sort, from } = view;
  const conditions = [
    filter &&
      renderCondition(`${filter.field}: ${filter.value.replaceAll('"', '')}`, path, { ...view, filter: undefined }),
    sort &&
      renderCondition(`sorted by ${sort.field}, ${sort.direction === 'asc' ? 'ascending' : 'descending'}`, path, {
        ...view,
        sort: undefined,
      }),
    from && renderCondition(`from ${from} on`, path, { ...view, from: undefined }),
  ];
  const facts = html`<p><strong>${formatCount(count, 'document')}</strong>${conditions}</p>`;
  const nextLink =
    next && html`<p><a rel="next" href="${toDataUrl(path, { ...view, from: next })}">Next page →</a></p>`;
  const table = rows === undefined ? renderTable(page, findLink, view) : renderRequests(rows, findLink, view);
  const body = html`<div class="bar">${facts}</div>
    ${table} ${nextLink}`;
  return renderPage(path, getCollectionGroup(path), body);
}

/** Renders what an id leads to: requests with their keys and lists, and documents that have the id. */
export function renderFound(
  id: string,
  rows: readonly RequestRow[],
  paths: readonly string[],
  findLink: FindLink,
): Html {
  const documents = paths.map((path) => html`<li><a href="${toDataUrl(path)}">${path}</a></li>`);
  const list = html`<h2>Documents with this id</h2>
    <ul>
      ${documents}
    </ul>`;
  const nothing = html`<p>No request was accepted with this id, and no document has it.</p>`;
  const body = html`${rows.length > 0 ? renderRequests(rows, findLink) : undefined}
  ${documents.length > 0 ? list : undefined} ${rows.length + documents.length === 0 ? nothing : undefined}`;
  return renderPage('', `Found: ${shorten(id, MAX_ID_TEXT)}`, body);
}

/** @param rows the requests that the document belongs to */
export function renderDocument(
  { document, subcollections }: DocumentPage,
  findLink: FindLink,
  rows: readonly RequestRow[],
): Html {
  const fields = document.exists
    ? formatValue('', document.data(), findLink)
    : html`<p class="quiet">This document does not exist; only its subcollections do.</p>`;
  const previews = subcollections.map((page) => {
    const hidden = page.count - page.documents.length;
    const all =
      hidden > 0 ? html`<p><a href="${toDataUrl(page.path)}">All ${formatNumber(page.count)} →</a></p>` : undefined;
    return html`<section>
      <h2>
        <a href="${toDataUrl(page.path)}">${getCollectionGroup(page.path)}</a>
        <span class="quiet">${formatCount(page.count, 'document')}</span>
      </h2>
      ${renderTable(page, findLink)} ${all}
    </section>`;
  });
  const status: unknown = document.get('status');
  const collection = document.ref.parent.path;
  const badge = status === undefined ? undefined : html`<p>${renderStatus(collection, status)}</p>`;
  const body = html`${rows.length > 0 ? renderRequests(rows, findLink) : badge}
    <div class="document">${fields}</div>
    ${previews}`;
  return renderPage(document.ref.path, document.id, body);
}

/** The columns of {@link renderRequests} after the status: head to stored field. */
const REQUEST_COLUMNS = {
  name: 'info.name',
  month: 'info.date',
  market: 'market_id',
  sender: 'key_id',
  products: 'products_count',
  created: 'created_at',
};

/** The fields of a request that {@link renderRequests} shows, some of them as links. */
const REQUEST_FIELDS = ['info', 'price_list_id', 'expected_forward_cost_id', ...Object.values(REQUEST_COLUMNS)];

/** Renders accepted requests, each with links to its key, its record and its lists. */
function renderRequests(rows: readonly RequestRow[], findLink: FindLink, view?: CollectionView): Html {
  const path = collections.priceListRequests;
  const columns = Object.entries(REQUEST_COLUMNS);
  const heads = columns.map(([head, field]) => renderHead(path, head, '', view, field));
  const body = rows.map(({ request, status }) => {
    const boqListId: unknown = request.get('info.boq_list_id');
    const id = typeof boqListId === 'string' ? boqListId : '';
    const keyUrl = toDataUrl(`${collections.priceListIdempotency}/${keyDocumentId(id)}`);
    const statusText = typeof status === 'string' ? status : 'no list';
    const cells = columns.map(([, field]) => html`<td>${formatCell(field, request.get(field), findLink)}</td>`);
    const link = (text: string, collection: string, linked: unknown) =>
      typeof linked === 'string' ? html`<a href="${toDataUrl(`${collection}/${linked}`)}">${text}</a> ` : undefined;
    const links = [
      link('request', path, request.id),
      link('prices', collections.priceLists, request.get('price_list_id')),
      link('costs', collections.expectedForwardCosts, request.get('expected_forward_cost_id')),
    ];
    return html`<tr>
      <td class="id"><a href="${keyUrl}">${shorten(id, MAX_ID_TEXT)}</a></td>
      <td><span class="status" data-status="${statusText}">${statusText}</span></td>
      ${cells}
      <td>${links}</td>
    </tr>`;
  });
  const table = renderScrolling(
    html`<table class="documents">
      <thead>
        <tr>
          <th>boq_list_id</th>
          <th>status</th>
          ${heads}
          <th>documents</th>
        </tr>
      </thead>
      <tbody>
        ${body}
      </tbody>
    </table>`,
    'Requests',
  );
  return html`${table}
  ${renderHidden(
    rows.map(({ request }) => request),
    REQUEST_FIELDS,
  )}`;
}

/** Says which fields of documents a table does not show. */
function renderHidden(documents: readonly DocumentSnapshot[], shown: readonly string[]): Content {
  const fields = new Set(documents.flatMap((document) => Object.keys(document.data() ?? {})));
  const hidden = [...fields].filter((field) => !shown.includes(field)).sort();
  return hidden.length === 0 ? undefined : html`<p class="quiet">Not shown here: ${hidden.join(', ')}</p>`;
}

/** Renders a condition that the documents meet, as a link that removes the condition. */
const renderCondition = (text: string, path: string, without: CollectionView): Html =>
  html` <a class="condition" href="${toDataUrl(path, without)}" aria-label="${`Remove: ${text}`}"
    >${text}<span aria-hidden="true"> ×</span></a
  >`;

/** Wraps content that may be wider than the screen. It takes the focus, so that the keyboard can scroll it. */
const renderScrolling = (content: Html, label: string): Html =>
  html`<div class="scroll" role="region" tabindex="0" aria-label="${label}">${content}</div>`;

export const renderMessage = (title: string, message: string): Html => renderPage('', title, html`<p>${message}</p>`);

/** @param view the page's view if its columns can be sorted by */
function renderTable({ path, documents }: CollectionPage, findLink: FindLink, view?: CollectionView): Html {
  if (documents.length === 0) return html`<p class="quiet">No documents.</p>`;
  const all = documents.map((document) => ({ document, fields: document.data() ?? {} }));
  const columns = selectColumns(documents).map((name) => {
    // The client's own `get` finds what every object inherits, such as a `constructor`.
    const values = all.map(({ fields }): unknown => (Object.hasOwn(fields, name) ? fields[name] : undefined));
    return { name, values, className: areNumbers(name, values) ? 'right' : '' };
  });
  const rows = all.map(
    ({ document }, row) =>
      html`<tr>
        <td class="id"><a href="${toDataUrl(document.ref.path)}">${shorten(document.id, MAX_ID_TEXT)}</a></td>
        ${columns.map(({ name, values, className }) => {
          const value = values[row];
          const content = name === 'status' ? renderStatus(path, value) : formatCell(name, value, findLink);
          return html`<td class="${className}">${content}</td>`;
        })}
      </tr>`,
  );
  const heads = columns.map(({ name, className }) => renderHead(path, name, className, view));
  const table = renderScrolling(
    html`<table class="documents">
      <thead>
        <tr>
          <th>id</th>
          ${heads}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>`,
    path,
  );
  return html`${table}
  ${renderHidden(
    documents,
    columns.map(({ name }) => name),
  )}`;
}

/** Whether a column holds numbers to compare, such as prices. They are aligned at the right. */
const areNumbers = (name: string, values: readonly unknown[]): boolean =>
  name !== 'status' &&
  values.every((value) => value === undefined || (typeof value === 'number' && !isTime(name, value)));

/**
 * Renders the head of a column. If an index serves the order, the head links to the view sorted by it, or reverses the order.
 *
 * @param field the stored field of the column
 */
function renderHead(
  path: string,
  head: string,
  className: string,
  view: CollectionView | undefined,
  field = head,
): Html {
  const current = view?.sort?.field === field ? view.sort.direction : undefined;
  const state = current === undefined ? 'none' : current === 'desc' ? 'descending' : 'ascending';
  const sort = (['desc', 'asc'] as const)
    .filter((direction) => direction !== current)
    .map((direction) => ({ field, direction }))
    .find((each) => isServed(getCollectionGroup(path), view?.filter?.field, each));
  const label =
    view === undefined || sort === undefined
      ? head
      : html`<a class="sort" href="${toDataUrl(path, { filter: view.filter, sort })}">${head}</a>`;
  return html`<th class="${className}" aria-sort="${state}">${label}</th>`;
}

const getCollectionGroup = (path: string): string => path.split('/').at(-1) ?? '';

/** Renders a status as a link to the documents that have it. */
function renderStatus(path: string, value: unknown): Content {
  if (typeof value !== 'string' && typeof value !== 'number') return html`<span class="quiet">–</span>`;
  const url = toDataUrl(path, { filter: { field: 'status', value: JSON.stringify(value) } });
  return html`<a class="status" data-status="${value}" href="${url}" title="${`Show only ${value}`}">${value}</a>`;
}

/** Selects the fields that most of the documents have. */
function selectColumns(documents: readonly DocumentSnapshot[]): string[] {
  const counts = new Map<string, number>();
  for (const document of documents)
    for (const field of Object.keys(document.data() ?? {})) counts.set(field, (counts.get(field) ?? 0) + 1);
  return [...counts]
    .sort(([a, countA], [b, countB]) => rank(FIRST_COLUMNS, a) - rank(FIRST_COLUMNS, b) || countB - countA)
    .slice(0, MAX_COLUMNS)
    .map(([field]) => field);
}

function renderPage(path: string, title: string, body: Html): Html {
  const segments = path === '' ? [] : path.split('/');
  const trail = segments.map((segment, i) => {
    const isLast = i === segments.length - 1;
    const link = html`<a href="${toDataUrl(segments.slice(0, i + 1).join('/'))}">${segment}</a>`;
    return html`<span class="separator">/</span>${isLast ? segment : link}`;
  });
  const home = html`<nav class="trail" aria-label="Path"><a href="${DATA_ROOT}">Collections</a>${trail}</nav>`;
  const find = html`<form class="find" action="${DATA_ROOT}">
    <label>
      Find any id
      <input name="find" autocomplete="off" spellcheck="false" required />
    </label>
    <button>Find</button>
  </form>`;
  return renderShell({
    title,
    section: 'Data',
    note: 'local, read-only',
    body: html`<main id="content">
      <div class="bar">${path === '' ? html`<span></span>` : home} ${find}</div>
      <h1>${title}</h1>
      ${body}
    </main>`,
  });
}
