import type { DocumentSnapshot } from '@google-cloud/firestore';
import type { CollectionPage, CollectionView, DocumentPage } from './data-source';
import { html, type Content, type Html } from './html';
import type { ViewerSettings } from './settings';
import { DATA_ROOT, toDataUrl } from './urls';
import { formatCell, formatCount, formatNumber, formatValue, shorten, type FindLink } from './values';

/** The data pages as HTML: no script, one style sheet. */

const MAX_COLUMNS = 8;

/** A SHA-256 in hex is cut, an id that Firestore makes is not. */
const MAX_ID_TEXT = 24;

export function renderOverview(
  counts: readonly { collection: string; count: number }[],
  settings: ViewerSettings,
): Html {
  const { descriptions = {}, project } = settings;
  const order = Object.keys(descriptions);
  const rank = (collection: string) => (order.includes(collection) ? order.indexOf(collection) : order.length);
  const rows = counts
    .toSorted((a, b) => rank(a.collection) - rank(b.collection))
    .map(
      ({ collection, count }) =>
        html`<tr>
          <td><a href="${toDataUrl(collection)}">${collection}</a></td>
          <td class="right">${formatNumber(count)}</td>
          <td class="quiet">${Object.hasOwn(descriptions, collection) ? descriptions[collection] : undefined}</td>
        </tr>`,
    );
  const table = html`<table class="documents">
    <thead>
      <tr>
        <th>Collection</th>
        <th class="right">Documents</th>
        <th>Holds</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
  return renderPage(
    '',
    'Collections',
    counts.length === 0
      ? html`<p>${project === undefined ? 'The database' : `The project ${project}`} is empty.</p>`
      : table,
    settings,
  );
}

export function renderCollection(
  page: CollectionPage,
  view: CollectionView,
  findLink: FindLink,
  settings: ViewerSettings,
): Html {
  const { path, count, next } = page;
  const { filter, sort, from, after } = view;
  const conditions = [
    filter && html`${filter.field} is ${filter.value.replaceAll('"', '')}`,
    sort && html`by ${sort.field}, ${sort.direction === 'asc' ? 'ascending' : 'descending'}`,
    from !== undefined && html`from ${from} on`,
  ].filter((condition) => condition instanceof Object);
  const clear = conditions.length > 0 ? html`<a href="${toDataUrl(path)}">Show all</a>` : undefined;
  const facts = html`<p class="facts">
    <strong>${formatCount(count, 'document')}</strong>
    ${conditions.map((condition) => html` · ${condition}`)} ${clear}
  </p>`;
  const jump = html`<form action="${toDataUrl(path)}">
    <label>Start at id <input name="from" value="${from}" autocomplete="off" spellcheck="false" /></label>
    <button>Go</button>
  </form>`;
  const first = after !== undefined ? html`<a href="${toDataUrl(path, omitAfter(view))}">First page</a>` : undefined;
  const nextLink =
    next !== undefined
      ? html`<a rel="next" href="${toDataUrl(path, { ...omitAfter(view), after: next })}">Next page →</a>`
      : undefined;
  const body = html`<div class="bar">${facts}${jump}</div>
    ${renderTable(page, findLink, settings, view)}
    <nav class="pages">${first}${nextLink}</nav>`;
  return renderPage(path, path.split('/').at(-1) ?? '', body, settings);
}

export function renderDocument(
  { document, subcollections }: DocumentPage,
  findLink: FindLink,
  settings: ViewerSettings,
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
        <a href="${toDataUrl(page.path)}">${page.path.split('/').at(-1)}</a>
        <span class="quiet">${formatCount(page.count, 'document')}</span>
      </h2>
      ${renderTable(page, findLink, settings)} ${all}
    </section>`;
  });
  const status: unknown = document.get('status');
  const collection = document.ref.parent.path;
  const badge = status === undefined ? undefined : html`<p>${renderStatus(collection, status)}</p>`;
  const body = html`${badge}
    <div class="document">${fields}</div>
    ${previews}`;
  return renderPage(document.ref.path, document.id, body, settings);
}

/** @param path of the collection or document that the message is about */
export function renderMessage(title: string, message: string, settings: ViewerSettings, path = ''): Html {
  return renderPage(path, title, html`<p>${message}</p>`, settings);
}

/** @param view the page's view if its columns can be sorted by */
function renderTable(
  { path, documents }: CollectionPage,
  findLink: FindLink,
  settings: ViewerSettings,
  view?: CollectionView,
): Html {
  if (documents.length === 0) return html`<p class="quiet">No documents.</p>`;
  const columns = selectColumns(documents, settings.firstColumns ?? []);
  const rows = documents.map((document) => {
    const fields = document.data() ?? {};
    const cells = columns.map((column) => {
      // The client's own `get` finds what every object inherits, such as a `constructor`.
      const value: unknown = Object.hasOwn(fields, column) ? fields[column] : undefined;
      return html`<td>${column === 'status' ? renderStatus(path, value) : formatCell(column, value, findLink)}</td>`;
    });
    return html`<tr>
      <td class="id"><a href="${toDataUrl(document.ref.path)}">${shorten(document.id, MAX_ID_TEXT)}</a></td>
      ${cells}
    </tr>`;
  });
  return html`<div class="scroll">
    <table class="documents">
      <thead>
        <tr>
          <th>id</th>
          ${columns.map((column) => html`<th>${renderColumn(path, column, view)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

/** Links to the collection sorted by a column; again, to the opposite direction. */
function renderColumn(path: string, column: string, view: CollectionView | undefined): Content {
  if (view === undefined || view.filter !== undefined) return column;
  const current = view.sort?.field === column ? view.sort.direction : undefined;
  const sort = { field: column, direction: current === 'desc' ? ('asc' as const) : ('desc' as const) };
  const arrow = current === undefined ? '' : current === 'desc' ? ' ↓' : ' ↑';
  return html`<a href="${toDataUrl(path, { sort })}">${column}${arrow}</a>`;
}

/** A status links to the documents that have it. */
function renderStatus(path: string, value: unknown): Content {
  if (typeof value !== 'string' && typeof value !== 'number') return html`<span class="absent">–</span>`;
  const url = toDataUrl(path, { filter: { field: 'status', value: JSON.stringify(value) } });
  return html`<a class="status" data-status="${value}" href="${url}">${value}</a>`;
}

/** The fields that most of the documents have. */
function selectColumns(documents: readonly DocumentSnapshot[], first: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const document of documents)
    for (const field of Object.keys(document.data() ?? {})) counts.set(field, (counts.get(field) ?? 0) + 1);
  const rank = (field: string) => (first.includes(field) ? first.indexOf(field) : first.length);
  return [...counts]
    .sort(([a, countA], [b, countB]) => rank(a) - rank(b) || countB - countA)
    .slice(0, MAX_COLUMNS)
    .map(([field]) => field);
}

function omitAfter({ after: _, ...view }: CollectionView): CollectionView {
  return view;
}

function renderPage(path: string, title: string, body: Html, { links = {} }: ViewerSettings): Html {
  const segments = path === '' ? [] : path.split('/');
  const trail = segments.map((segment, i) => {
    const isLast = i === segments.length - 1;
    const link = html`<a href="${toDataUrl(segments.slice(0, i + 1).join('/'))}">${segment}</a>`;
    return html`<span class="separator">/</span>${isLast ? segment : link}`;
  });
  const siteLinks = Object.entries(links).map(([text, url]) => html`<a href="${url}">${text}</a>`);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Data</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${DATA_ROOT}.css" />
      </head>
      <body>
        <header>
          <nav class="site">${siteLinks}<a href="${DATA_ROOT}" aria-current="page">Data</a></nav>
          <span class="quiet">local, read-only</span>
        </header>
        <main>
          ${path === '' ? undefined : html`<nav class="trail"><a href="${DATA_ROOT}">Collections</a>${trail}</nav>`}
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `;
}
