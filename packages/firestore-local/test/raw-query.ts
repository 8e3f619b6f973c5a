import type { google } from '@google-cloud/firestore-api/protos';
import type { RawClient } from './support';

/* Queries of the protocol, for what the SDKs do not send. */

type StructuredQuery = google.firestore.v1.IStructuredQuery;
type Filter = google.firestore.v1.StructuredQuery.IFilter;
type RawValue = google.firestore.v1.IValue;
type Operator = NonNullable<google.firestore.v1.StructuredQuery.IFieldFilter['op']>;
type UnaryOperator = NonNullable<google.firestore.v1.StructuredQuery.IUnaryFilter['op']>;

export const text = (value: string): RawValue => ({ stringValue: value });
export const integer = (value: number | string): RawValue => ({ integerValue: value });
export const double = (value: number): RawValue => ({ doubleValue: value });
export const list = (...values: RawValue[]): RawValue => ({ arrayValue: { values } });
export const map = (fields: Record<string, RawValue>): RawValue => ({ mapValue: { fields } });
export const reference = (name: string): RawValue => ({ referenceValue: name });

export const where = (fieldPath: string, op: Operator, value: RawValue): Filter => ({
  fieldFilter: { field: { fieldPath }, op, value },
});
export const whereIs = (fieldPath: string, op: UnaryOperator): Filter => ({
  unaryFilter: { field: { fieldPath }, op },
});
export const all = (...filters: Filter[]): Filter => ({ compositeFilter: { op: 'AND', filters } });
export const any = (...filters: Filter[]): Filter => ({ compositeFilter: { op: 'OR', filters } });
export const by = (
  fieldPath: string,
  direction: 'ASCENDING' | 'DESCENDING' = 'ASCENDING',
): google.firestore.v1.StructuredQuery.IOrder => ({ field: { fieldPath }, direction });

/** Runs a query of the collection `c`, unless it names another. Resolves with the ids of its documents. */
export async function runRaw(raw: RawClient, parent: string, query: StructuredQuery): Promise<string[]> {
  const stream = raw.runQuery({ parent, structuredQuery: { from: [{ collectionId: 'c' }], ...query } });
  const ids: string[] = [];
  for await (const response of stream as AsyncIterable<google.firestore.v1.IRunQueryResponse>) {
    if (response.document?.name) ids.push(response.document.name.split('/').at(-1) ?? '');
  }
  return ids;
}

/** Aggregates a query of the collection `c`, unless it names another. Resolves with the result's fields. */
export async function aggregateRaw(
  raw: RawClient,
  parent: string,
  aggregations: google.firestore.v1.StructuredAggregationQuery.IAggregation[],
  query: StructuredQuery = {},
): Promise<Record<string, RawValue>> {
  const structuredQuery = { from: [{ collectionId: 'c' }], ...query };
  const stream = raw.runAggregationQuery({ parent, structuredAggregationQuery: { structuredQuery, aggregations } });
  let fields: Record<string, RawValue> = {};
  for await (const { result } of stream as AsyncIterable<google.firestore.v1.IRunAggregationQueryResponse>) {
    fields = result?.aggregateFields ?? fields;
  }
  return fields;
}
