import type { FieldPath } from './paths';
import type { MapValue, Value } from './values';

/* The requests of google.firestore.v1 as plain data. A `oneof` of which the server serves several members is a union. */

/** A condition on the stored document under which a write applies. `updateTime` is in microseconds since 1970. */
export type Precondition = { readonly exists: boolean } | { readonly updateTime: number };

/** One write of a commit. `name` is the full resource name of the document. */
export type Write =
  | {
      readonly kind: 'update';
      readonly name: string;
      readonly fields: MapValue;
      /** The fields to set or, where `fields` lacks them, to remove; undefined if the write replaces the document. */
      readonly mask: Mask;
      readonly precondition: Precondition | undefined;
    }
  | { readonly kind: 'delete'; readonly name: string; readonly precondition: Precondition | undefined };

/** Which version of the documents a read returns. `readTime` is in microseconds since 1970. */
export type Consistency =
  | { readonly kind: 'latest' }
  | { readonly kind: 'readTime'; readonly readTime: number }
  | { readonly kind: 'transaction'; readonly id: string }
  | { readonly kind: 'newTransaction' };

export type Filter =
  | { readonly kind: 'and'; readonly filters: readonly Filter[] }
  | { readonly kind: 'isNull'; readonly path: FieldPath }
  | { readonly kind: 'field'; readonly path: FieldPath; readonly op: Operator; readonly value: Value };

export type Operator = '<' | '<=' | '>' | '>=' | '==' | 'in';

/** One term of an order. */
export interface Order {
  readonly path: FieldPath;
  readonly descending: boolean;
}

/** A position in an order, directly before or after the documents with these values. */
export interface Cursor {
  readonly values: readonly Value[];
  readonly before: boolean;
}

/** A query as sent, without the implicit terms of its order. `parent` is a resource name. */
export interface StructuredQuery {
  readonly parent: string;
  readonly collectionId: string;
  readonly allDescendants: boolean;
  readonly filter: Filter | undefined;
  readonly orderBy: readonly Order[];
  readonly startAt: Cursor | undefined;
  readonly limit: number | undefined;
  readonly select: Mask;
}

/** The fields that a read returns or a write changes; undefined stands for all. */
export type Mask = readonly FieldPath[] | undefined;

/** The decoded requests, by operation. */
export interface Requests {
  BatchGetDocuments: { database: string; documents: readonly string[]; mask: Mask; consistency: Consistency };
  BeginTransaction: { database: string };
  Commit: { database: string; writes: readonly Write[]; transaction: string | undefined };
  Rollback: { database: string; transaction: string };
  RunQuery: { query: StructuredQuery; consistency: Consistency };
  /** A count of a query. `alias` is the name of the result. */
  RunAggregationQuery: { query: StructuredQuery; alias: string; consistency: Consistency };
  ListCollectionIds: { parent: string; pageSize: number };
}

/** The operations that the server supports. */
export type Rpc = keyof Requests;
