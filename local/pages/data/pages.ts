import type { DocumentSnapshot } from '@google-cloud/firestore';
import { Indexes } from '../../../packages/firestore-local/src/internal';
import type { CollectionPage, CollectionView, DocumentPage } from './data-source';
import { html, type Content, type Html } from '../html';
import type { ViewerSettings } from './settings';
import { renderShell } from '../shell';
import { DATA_ROOT, toDataUrl } from './urls';
import { formatCell, formatCount, formatNumber, formatValue, isTime, shorten, type FindLink } from './values';

/** Renders the data pages. They have no script. */

const MAX_COLUMNS = 8;

/** Cuts a SHA-256 in hex, but not an id that Firestore generates. */
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
  const { filter: _filter, ...withoutFilter } = omitAfter(view);
  const { sort: _sort, ...withoutSort } = omitAfter(view);
  const { from: _from, ...withoutFrom } = omitAfter(view);
  const conditions: (Html | undefined)[] = [
    filter && renderCondition(`${filter.field}: ${filter.value.replaceAll('"', '')}`, toDataUrl(path, withoutFilter)),
    sort &&
      renderCondition(
        `sorted by ${sort.field}, ${sort.direction === 'asc' ? 'ascending' : 'descending'}`,
        toDataUrl(path, withoutSort),
      ),
    from === undefined ? undefined : renderCondition(`from ${from} on`, toDataUrl(path, withoutFrom)),
  ];
  const facts = html`<p class="facts"><strong>${formatCount(count, 'document')}</strong>${conditions}</p>`;
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
    <nav class="pages" aria-label="Pages">${first}${nextLink}</nav>`;
  return renderPage(path, getCollectionGroup(path), body, settings);
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
        <a href="${toDataUrl(page.path)}">${getCollectionGroup(page.path)}</a>
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

/** A condition of the documents that are shown, as a link that removes it. */
const renderCondition = (text: string, urlWithout: string): Html =>
  html` <a class="condition" href="${urlWithout}" aria-label="${`Remove: ${text}`}"
    >${text}<span aria-hidden="true"> ×</span></a
  >`;

/** Content that may be wider than the screen. It takes the focus, so that the keyboard can scroll it. */
const renderScrolling = (content: Html, label: string): Html =>
  html`<div class="scroll" role="region" tabindex="0" aria-label="${label}">${content}</div>`;

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
  const all = documents.map((document) => ({ document, fields: document.data() ?? {} }));
  const columns = selectColumns(documents, settings.firstColumns ?? []).map((name) => {
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
  const heads = columns.map(({ name, className }) => renderHead(path, name, className, settings, view));
  return renderScrolling(
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
}

/** Whether a column holds numbers to be compared, such as prices: they are aligned at their right. */
const areNumbers = (name: string, values: readonly unknown[]): boolean =>
  name !== 'status' &&
  values.every((value) => value === undefined || (typeof value === 'number' && !isTime(name, value)));

/** The head of a column. Where an index serves it, a link sorts the collection by the column, or turns its order around. */
function renderHead(
  path: string,
  column: string,
  className: string,
  { indexes = {} }: ViewerSettings,
  view: CollectionView | undefined,
): Html {
  if (
    view === undefined ||
    view.filter !== undefined ||
    !new Indexes(indexes).isSortable(getCollectionGroup(path), column)
  ) {
    return html`<th class="${className}">${column}</th>`;
  }
  const current = view.sort?.field === column ? view.sort.direction : undefined;
  const sort = { field: column, direction: current === 'desc' ? ('asc' as const) : ('desc' as const) };
  const state = current === undefined ? 'none' : current === 'desc' ? 'descending' : 'ascending';
  return html`<th class="${className}" aria-sort="${state}">
    <a class="sort" href="${toDataUrl(path, { sort })}">${column}</a>
  </th>`;
}

const getCollectionGroup = (path: string): string => path.split('/').at(-1) ?? '';

/** A status links to the documents that have it. */
function renderStatus(path: string, value: unknown): Content {
  if (typeof value !== 'string' && typeof value !== 'number') return html`<span class="absent">–</span>`;
  const url = toDataUrl(path, { filter: { field: 'status', value: JSON.stringify(value) } });
  return html`<a class="status" data-status="${value}" href="${url}" title="${`Show only ${value}`}">${value}</a>`;
}

/** Selects the fields that most of the documents have. */
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
  const home = html`<nav class="trail" aria-label="Path"><a href="${DATA_ROOT}">Collections</a>${trail}</nav>`;
  return renderShell({
    title,
    section: SECTION,
    links: { ...links, [SECTION]: DATA_ROOT },
    note: 'local, read-only',
    body: html`<main id="content">
      ${path === '' ? undefined : home}
      <h1>${title}</h1>
      ${body}
    </main>`,
  });
}

/** The name of the data pages at the top of each page. */
const SECTION = 'Data';
