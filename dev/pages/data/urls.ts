import type { CollectionView } from './data-source';

export const DATA_ROOT = '/data';

/** Returns the address of the page of a collection or document. */
export function toDataUrl(path: string, { filter, sort, from }: CollectionView = {}): string {
  const query = new URLSearchParams();
  if (filter !== undefined) {
    query.set('field', filter.field);
    query.set('value', filter.value);
  }
  if (sort !== undefined) query.set('sort', sort.direction === 'desc' ? `-${sort.field}` : sort.field);
  if (from !== undefined) query.set('from', from);
  const address = [DATA_ROOT, ...path.split('/').map(encodeURIComponent)].join('/');
  return query.size === 0 ? address : `${address}?${query.toString()}`;
}

export const toFindUrl = (id: string): string => `${DATA_ROOT}?${new URLSearchParams({ find: id }).toString()}`;

/** @returns the Firestore path without leading or trailing slashes, which is empty for the overview, and which documents to show */
export function parseDataUrl({ pathname, searchParams }: URL): { path: string; view: CollectionView } {
  const segments = pathname.slice(DATA_ROOT.length).split('/');
  const path = segments.filter((segment) => segment !== '').map(decodeURIComponent);
  const get = (name: string) => searchParams.get(name) ?? undefined;
  const [field, value, sort, from] = ['field', 'value', 'sort', 'from'].map(get);
  return {
    path: path.join('/'),
    view: {
      filter: field === undefined || value === undefined ? undefined : { field, value },
      sort:
        sort === undefined
          ? undefined
          : { field: sort.replace(/^-/, ''), direction: sort.startsWith('-') ? 'desc' : 'asc' },
      from,
    },
  };
}
