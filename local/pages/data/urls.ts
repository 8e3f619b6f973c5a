import type { CollectionView } from './data-source';

export const DATA_ROOT = '/data';

/** The page of a collection or document. */
export function toDataUrl(path: string, view: CollectionView = {}): string {
  const segments = path.split('/').map(encodeURIComponent);
  const query = formatView(view).toString();
  return [DATA_ROOT, ...segments].join('/') + (query === '' ? '' : `?${query}`);
}

function formatView({ filter, sort, after, from }: CollectionView): URLSearchParams {
  const query = new URLSearchParams();
  if (filter !== undefined) {
    query.set('field', filter.field);
    query.set('value', filter.value);
  }
  if (sort !== undefined) query.set('sort', sort.direction === 'desc' ? `-${sort.field}` : sort.field);
  if (after !== undefined) query.set('after', after);
  if (from !== undefined) query.set('from', from);
  return query;
}

/** A path of Firestore without its slashes at both ends; empty for the overview. */
export function parseDataUrl(url: URL): { path: string; view: CollectionView } {
  const path = url.pathname
    .slice(DATA_ROOT.length)
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeURIComponent)
    .join('/');
  const get = (name: string) => url.searchParams.get(name) ?? undefined;
  const { field, value, sort, after, from } = {
    field: get('field'),
    value: get('value'),
    sort: get('sort'),
    after: get('after'),
    from: get('from') === '' ? undefined : get('from'),
  };
  return {
    path,
    view: {
      ...(field !== undefined && value !== undefined && { filter: { field, value } }),
      ...(sort !== undefined && {
        sort: { field: sort.replace(/^-/, ''), direction: sort.startsWith('-') ? 'desc' : 'asc' },
      }),
      ...(after !== undefined && { after }),
      ...(from !== undefined && { from }),
    },
  };
}
