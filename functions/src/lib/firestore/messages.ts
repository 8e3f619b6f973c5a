import { Request } from './generated/request';
import { Position, Response } from './generated/response';

/** `messages.proto` defines the messages of queries. */

export interface QuerySpec {
  collection: string;
  /** Conditions, all of which a document must meet. */
  where?: readonly FieldFilter[];
  /** Top-level fields to order by, before the document id. Documents that lack one of them are left out. */
  orderBy?: readonly string[];
  /** Paths of the fields to read. */
  fields: readonly string[];
}

export type FieldFilter = readonly [path: string, operator: keyof typeof FILTER_OPERATORS, value: string | number];

export type StoredFields = Readonly<Record<string, unknown>>;

const { CompositeFilter, Direction, FieldFilter: Filter } = Request.StructuredQuery;

const FILTER_OPERATORS = {
  '<': Filter.Operator.LESS_THAN,
  '>=': Filter.Operator.GREATER_THAN_OR_EQUAL,
  '==': Filter.Operator.EQUAL,
} as const;

/**
 * @param parent full name of the root of the database
 * @param last a response with a document; the request then asks for the documents after it, as they
 * were at the time of that response
 */
export function encodeRunQueryRequest(
  parent: string,
  { collection, where = [], orderBy = [], fields }: QuerySpec,
  last?: Buffer,
): Buffer {
  const position = last === undefined ? null : decodePosition(last, orderBy);
  const request: Request.IRunQueryRequest = {
    parent,
    structuredQuery: {
      // To continue after a document, the service needs the document's values of the fields in `orderBy`.
      select: { fields: [...fields, ...orderBy].map(toField) },
      from: [{ collectionId: collection }],
      where: where.length === 0 ? null : toAndFilter(where),
      orderBy: [...orderBy, '__name__'].map((path) => ({ field: toField(path), direction: Direction.ASCENDING })),
      startAt: position && { values: position.values },
    },
    readTime: position?.readTime ?? null,
  };
  return Buffer.from(Request.RunQueryRequest.encode(request).finish());
}

/**
 * @returns undefined for a response without a document, which only reports progress
 * @throws Error if protobufjs cannot decode the bytes
 */
export function decodeDocument(response: Buffer): { id: string; fields: StoredFields } | undefined {
  const { document } = Response.RunQueryResponse.decode(response);
  return document ? { id: toDocumentId(document.name), fields: toStoredFields(document) } : undefined;
}

const toDocumentId = (name: string | null | undefined): string => (name ?? '').slice((name ?? '').lastIndexOf('/') + 1);

/** Returns the encoded position after which a query continues: the values of its order, the document name and the read time. */
function decodePosition(response: Buffer, orderBy: readonly string[]) {
  const { document, readTime } = Position.RunQueryResponse.decode(response);
  const values = orderBy.flatMap((path) => document?.fields?.[path] ?? []);
  const reference = Request.Value.encode({ referenceValue: document?.name ?? '' }).finish();
  return { values: [...values, reference], readTime };
}

function toStoredFields({ fields }: Response.IMapValue): StoredFields {
  const map: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields ?? {})) {
    // No response needs a field of this name, and assigning it would set the prototype.
    if (name !== '__proto__') map[name] = toStoredValue(value);
  }
  return map;
}

/** Returns undefined for a value that is not a string, an array or a map. No read operation returns other stored values. */
function toStoredValue({ stringValue, mapValue, arrayValue }: Response.IValue): unknown {
  if (mapValue) return toStoredFields(mapValue);
  if (arrayValue) return arrayValue.values?.map(toStoredValue) ?? [];
  return stringValue ?? undefined;
}

const toField = (fieldPath: string): Request.StructuredQuery.IFieldReference => ({ fieldPath });

function toAndFilter(where: readonly FieldFilter[]): Request.StructuredQuery.IFilter {
  const filters = where.map(([path, operator, value]) => ({
    fieldFilter: {
      field: toField(path),
      op: FILTER_OPERATORS[operator],
      value: typeof value === 'string' ? { stringValue: value } : { integerValue: value },
    },
  }));
  return { compositeFilter: { op: CompositeFilter.Operator.AND, filters } };
}
