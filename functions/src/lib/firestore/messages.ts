import { Request } from './generated/request';
import { Position, Response } from './generated/response';

/** Messages of queries, by protobufjs. `messages.proto` defines them. */

/** What to read from a collection. */
export interface QuerySpec {
  /** Path of the document whose subcollection is read; without one, a collection of the database is. */
  parent?: string;
  collection: string;
  /** Conditions that all hold. */
  where?: readonly FieldFilter[];
  /** Top-level fields of the ascending order. Documents without them are left out; ties go by document id. */
  orderBy?: readonly string[];
  /** Paths of the fields to read. */
  fields: readonly string[];
}

export type FieldFilter = readonly [path: string, operator: keyof typeof FILTER_OPERATORS, value: string | number];

/** The fields of a document that were read. */
export type StoredFields = Readonly<Record<string, unknown>>;

const { CompositeFilter, Direction, FieldFilter: Filter } = Request.StructuredQuery;

const FILTER_OPERATORS = {
  '<': Filter.Operator.LESS_THAN,
  '>=': Filter.Operator.GREATER_THAN_OR_EQUAL,
  '==': Filter.Operator.EQUAL,
} as const;

/**
 * Encodes the request for all documents of a query.
 *
 * @param parent full name of the document, or of the database's documents, whose collection is read
 * @param last response with a document, to encode the request for those after it, read at the same
 * time
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
      // To continue after a document takes its values of the fields of the order.
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
 * Decodes the document of a response; undefined for a response without one, which only reports
 * progress.
 *
 * @throws Error for bytes that are no such message
 */
export function decodeDocument(response: Buffer): { id: string; fields: StoredFields } | undefined {
  const { document } = Response.RunQueryResponse.decode(response);
  return document ? { id: toDocumentId(document.name), fields: toStoredFields(document) } : undefined;
}

/** Returns the last segment of a document's full name. */
export const toDocumentId = (name: string | null | undefined): string =>
  (name ?? '').slice((name ?? '').lastIndexOf('/') + 1);

/** Decodes where a query continues, all encoded: values of the order, name of the document, time of the read. */
function decodePosition(response: Buffer, orderBy: readonly string[]) {
  const { document, readTime } = Position.RunQueryResponse.decode(response);
  const values = orderBy.flatMap((path) => document?.fields?.[path] ?? []);
  const reference = Request.Value.encode({ referenceValue: document?.name ?? '' }).finish();
  return { values: [...values, reference], readTime };
}

function toStoredFields({ fields }: Response.IMapValue): StoredFields {
  const map: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields ?? {})) {
    // No response has a field of this name, and assigning it would set the prototype.
    if (name !== '__proto__') map[name] = toStoredValue(value);
  }
  return map;
}

/** Responses contain strings, arrays and maps only; a value of any other type is undefined. */
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
