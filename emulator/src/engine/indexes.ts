import { RpcError } from '../protocol/errors';
import { formatFieldPath, isName, parseFieldPath, type FieldPath } from '../protocol/paths';
import type { Filter, Order } from '../protocol/requests';
import { compareValues, getPath, type MapValue, type Value } from '../protocol/values';

type Scope = 'COLLECTION' | 'COLLECTION_GROUP';

interface FieldIndex {
  readonly order?: 'ASCENDING' | 'DESCENDING';
  readonly arrayConfig?: 'CONTAINS';
  readonly queryScope?: Scope;
}

/** The content of `firestore.indexes.json`. https://firebase.google.com/docs/reference/firestore/indexes */
export interface IndexDefinitions {
  readonly indexes?: readonly {
    readonly collectionGroup: string;
    readonly queryScope?: Scope;
    readonly fields: readonly (Omit<FieldIndex, 'queryScope'> & { readonly fieldPath: string })[];
  }[];
  readonly fieldOverrides?: readonly {
    readonly collectionGroup: string;
    readonly fieldPath: string;
    readonly indexes: readonly FieldIndex[];
    /** Whether Firestore deletes each document after the time in this field. This server ignores `ttl`. */
    readonly ttl?: boolean;
  }[];
}

/** The single-field indexes of a field to which no override applies. */
const AUTOMATIC: readonly FieldIndex[] = [
  { order: 'ASCENDING', queryScope: 'COLLECTION' },
  { order: 'DESCENDING', queryScope: 'COLLECTION' },
  { arrayConfig: 'CONTAINS', queryScope: 'COLLECTION' },
];

type IndexMode = 'ASCENDING' | 'DESCENDING' | 'CONTAINS';

interface IndexField {
  readonly path: string;
  readonly mode: IndexMode;
}

/**
 * The fields that an index needs to serve a query without other indexes: the query's equality fields in any order, then the suffix,
 * which is the query's order without those fields.
 */
interface IndexRequirement {
  readonly group: string;
  readonly scope: Scope;
  readonly equalities: readonly string[];
  readonly suffix: readonly IndexField[];
}

/**
 * The automatic and the declared indexes. They decide how many index entries a document has and, if the server got index
 * definitions, which queries run.
 */
export class Indexes {
  /** @throws Error with a message for the user, if the definitions are clearly not those of a `firestore.indexes.json` */
  constructor(private readonly definitions: IndexDefinitions) {
    if (!isComplete(definitions))
      throw new Error(
        'the indexes must have the form of a firestore.indexes.json: { "indexes": [], "fieldOverrides": [] }',
      );
  }

  /**
   * Checks that indexes serve a query. Each index must end with the query's order, without the fields of equalities. Several
   * indexes together can cover the equalities. https://firebase.google.com/docs/firestore/query-data/index-overview
   *
   * @throws RpcError FAILED_PRECONDITION with a message that names the index to declare
   */
  assertIndexed(group: string, scope: Scope, filter: Filter | undefined, orders: readonly Order[]): void {
    const requirement = toIndexRequirement(group, scope, filter ? getTerms(filter) : [], orders);
    if (!this.serves(requirement)) throw createMissingIndexError(requirement);
  }

  /**
   * Counts the index entries of a document. Each field, also within a map, has one entry per ascending or descending index. An
   * array also has one entry per distinct element if its elements are indexed. A composite index of fields that all exist has
   * one entry, or one per distinct element if it covers the elements of an array.
   */
  countEntries(group: string, fields: MapValue): number {
    let count = 0;
    const visit = (map: MapValue, parents: FieldPath): void => {
      for (const [key, value] of map) {
        const path = [...parents, key];
        for (const index of this.getFieldIndexes(group, path)) {
          if (index.order) count++;
          else if (Array.isArray(value)) count += countDistinct(value);
        }
        if (value instanceof Map) visit(value, path);
      }
    };
    visit(fields, []);
    for (const composite of this.getComposites(group)) {
      const values = composite.fields.map(({ path }) => getPath(fields, parseFieldPath(path)));
      if (values.includes(undefined)) continue;
      count += composite.fields.reduce((product, { mode }, i) => {
        const value = values[i];
        return mode === 'CONTAINS' && Array.isArray(value) ? product * countDistinct(value) : product;
      }, 1);
    }
    return count;
  }

  private getComposites(group: string): { scope: Scope; fields: IndexField[] }[] {
    return (this.definitions.indexes ?? [])
      .filter((index) => index.collectionGroup === group)
      .map((index) => ({
        scope: index.queryScope ?? 'COLLECTION',
        fields: index.fields.map((field) => ({
          path: formatFieldPath(parseFieldPath(field.fieldPath)),
          mode: field.arrayConfig ?? field.order ?? 'ASCENDING',
        })),
      }));
  }

  /**
   * Returns the indexes of a field. They are those in the override of the field, of the nearest map around it, or of `*`. Without
   * such an override, they are the automatic ones.
   */
  private getFieldIndexes(group: string, path: FieldPath): readonly FieldIndex[] {
    const overrides = this.definitions.fieldOverrides ?? [];
    if (overrides.length === 0) return AUTOMATIC;
    for (let length = path.length; length > 0; length--) {
      const text = formatFieldPath(path.slice(0, length));
      const found = overrides.find(
        (override) =>
          override.collectionGroup === group &&
          override.fieldPath !== '*' &&
          formatFieldPath(parseFieldPath(override.fieldPath)) === text,
      );
      if (found) return found.indexes;
    }
    return overrides.find((override) => override.fieldPath === '*' && isDefault(override, group))?.indexes ?? AUTOMATIC;
  }

  private serves(requirement: IndexRequirement): boolean {
    const { equalities, suffix } = requirement;
    if (equalities.length === 0 && suffix.every(({ path }) => path === '__name__')) return true;
    const covered = new Set<string>();
    let found = false;
    for (const fields of this.getCandidates(requirement)) {
      const prefix = getPrefix(suffix, fields);
      const fits = prefix?.every(({ path, mode }) => mode !== 'CONTAINS' && equalities.includes(path));
      if (!prefix || !fits) continue;
      found = true;
      for (const { path } of prefix) covered.add(path);
    }
    return found && equalities.every((path) => covered.has(path));
  }

  /** Returns the indexes of the query's fields and the composite indexes of its group, each with the document name at the end. */
  private getCandidates({ group, scope, equalities, suffix }: IndexRequirement): IndexField[][] {
    const paths = new Set([...equalities, ...suffix.map(({ path }) => path)].filter((path) => path !== '__name__'));
    const single = [...paths].flatMap((path) =>
      this.getFieldIndexes(group, parseFieldPath(path))
        .filter((index) => (index.queryScope ?? 'COLLECTION') === scope)
        .map((index) => [{ path, mode: index.arrayConfig ?? index.order ?? 'ASCENDING' } satisfies IndexField]),
    );
    const composite = this.getComposites(group)
      .filter((index) => index.scope === scope)
      .map((index) => index.fields);
    return [...single, ...composite].map((fields) => {
      const last = fields.at(-1);
      if (last?.path === '__name__') return fields;
      return [...fields, { path: '__name__', mode: last?.mode === 'DESCENDING' ? 'DESCENDING' : 'ASCENDING' }];
    });
  }
}

const isDefault = (override: { readonly collectionGroup: string }, group: string): boolean =>
  override.collectionGroup === group || override.collectionGroup === '__default__';

const countDistinct = (items: readonly Value[]): number => {
  const sorted = [...items].sort(compareValues);
  return sorted.filter((item, i) => i === 0 || compareValues(item, sorted[i - 1] as Value) !== 0).length;
};

/** Returns the fields of an index before the suffix, or undefined if the index does not end with the suffix. */
function getPrefix(suffix: readonly IndexField[], fields: readonly IndexField[]): IndexField[] | undefined {
  const start = fields.length - suffix.length;
  if (start < 0) return undefined;
  const ends = suffix.every(
    ({ path, mode }, i) => fields[start + i]?.path === path && fields[start + i]?.mode === mode,
  );
  return ends ? fields.slice(0, start) : undefined;
}

/** A filter on one field. */
export type Term = Exclude<Filter, { kind: 'and' }>;

/** Returns the terms that a filter joins with AND. */
export const getTerms = (filter: Filter): readonly Term[] =>
  filter.kind === 'and' ? filter.filters.flatMap(getTerms) : [filter];

/** Returns whether a term limits its field to given values. Such a term adds no implicit term to the order. */
export const isEquality = (term: Term): boolean => term.kind === 'isNull' || term.op === '==' || term.op === 'in';

const MODES: ReadonlySet<string | undefined> = new Set(['ASCENDING', 'DESCENDING', 'CONTAINS'] satisfies IndexMode[]);

/** Returns whether the definitions have all that {@link Indexes} reads. A member of another type makes a line below throw. */
function isComplete(definitions: IndexDefinitions): boolean {
  try {
    const { indexes = [], fieldOverrides = [] } = definitions;
    const paths = [
      ...indexes.flatMap(({ fields }) => fields.map(({ fieldPath }) => fieldPath)),
      ...fieldOverrides.map(({ fieldPath }) => fieldPath).filter((fieldPath) => fieldPath !== '*'),
    ];
    const modes = fieldOverrides.flatMap((override) =>
      override.indexes.map(({ order, arrayConfig }) => order ?? arrayConfig),
    );
    for (const path of paths) parseFieldPath(path);
    return (
      !Array.isArray(definitions) &&
      typeof definitions === 'object' &&
      modes.every((mode) => MODES.has(mode)) &&
      [...indexes, ...fieldOverrides].every(({ collectionGroup }) => collectionGroup)
    );
  } catch {
    return false;
  }
}

function toIndexRequirement(
  group: string,
  scope: Scope,
  terms: readonly Term[],
  orders: readonly Order[],
): IndexRequirement {
  const equalities = terms
    .filter((term) => isEquality(term) && !isName(term.path))
    .map(({ path }) => formatFieldPath(path));
  const suffix = orders
    .map(({ path, descending }): IndexField => ({
      path: formatFieldPath(path),
      mode: descending ? 'DESCENDING' : 'ASCENDING',
    }))
    .filter(({ path }) => !equalities.includes(path));
  return { group, scope, equalities, suffix };
}

function createMissingIndexError({ group, scope, equalities, suffix }: IndexRequirement): RpcError {
  // By default, Firestore ends an index with `__name__` in the direction of the last field.
  const isImplied = ({ path, mode }: IndexField) =>
    path === '__name__' && mode === (suffix.at(-2)?.mode ?? 'ASCENDING');
  const fields = [
    ...equalities.map((path) => `${path} ASCENDING`),
    ...suffix.filter((field) => !isImplied(field)).map(({ path, mode }) => `${path} ${mode}`),
  ];
  return new RpcError(
    'FAILED_PRECONDITION',
    `The query requires an index. Declare it in firestore.indexes.json: collectionGroup "${group}", ` +
      `queryScope ${scope}, fields ${[...new Set(fields)].join(', ')}.`,
  );
}
