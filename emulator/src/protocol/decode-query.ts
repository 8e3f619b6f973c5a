import { toNumber, type Message } from './codec';
import { invalid, unsupported } from './errors';
import { has, readField, toList, toMessage, toText } from './message-readers';
import { parseFieldPath } from './paths';
import type { Cursor, Filter, Operator, StructuredQuery } from './requests';
import { isComparable, type Value } from './values';

export function readQuery(request: Message, value: unknown): StructuredQuery {
  if (toMessage(request['explainOptions'])) throw unsupported('Query explain');
  const query = toMessage(value);
  if (!query) throw invalid('The query is missing.');
  const from = toList(query['from']);
  if (from.length > 1) throw invalid('A query reads from one collection only.');
  const collectionId = toText(from[0]?.['collectionId'] ?? '');
  if (collectionId === '') throw unsupported('A query of all collections');
  if (toMessage(query['findNearest'])) throw unsupported('Vector search (findNearest)');
  if (query['offset']) throw unsupported('Offsets');
  if (toMessage(query['endAt'])) throw unsupported('A cursor at the end (endAt, endBefore)');
  const limit = toMessage(query['limit']);
  const where = toMessage(query['where']);
  const select = toMessage(query['select']);
  return {
    parent: toText(request['parent']),
    collectionId,
    allDescendants: Boolean(from[0]?.['allDescendants']),
    filter: where && readFilter(where),
    orderBy: toList(query['orderBy']).map((order) => ({
      path: readField(order['field']),
      descending: order['direction'] === DESCENDING,
    })),
    startAt: readCursor(query['startAt']),
    limit: limit && toNumber(limit['value']),
    select: select && toList(select['fields']).map((field) => parseFieldPath(toText(field['fieldPath']))),
  };
}

/** Checks that a count is the only aggregation, and returns its alias. */
export function readCount([message, ...others]: readonly Message[]): string {
  if (!message) throw invalid('Aggregations can not be empty.');
  const count = toMessage(message['count']);
  if (!count || others.length > 0 || toMessage(count['upTo']))
    throw unsupported('Aggregations other than one count without upTo');
  return toText(message['alias']) || 'field_1';
}

/** The protocol's numbers for a descending order and for AND. */
const DESCENDING = 2;
const AND = 1;

/** The operators by the protocol's numbers. The server refuses all others. */
const OPERATORS: Readonly<Record<number, Operator>> = { 1: '<', 2: '<=', 3: '>', 4: '>=', 5: '==', 8: 'in' };

/** The protocol's number for the operator that SDKs send for `== null`. */
const IS_NULL = 3;

function readFilter(message: Message): Filter {
  const composite = toMessage(message['compositeFilter']);
  if (composite) {
    if (!composite['op']) throw invalid('Unsupported CompositeFilter operator.');
    if (composite['op'] !== AND) throw unsupported('OR in a filter');
    return { kind: 'and', filters: toList(composite['filters']).map(readFilter) };
  }
  const unary = toMessage(message['unaryFilter']);
  if (unary) {
    if (unary['op'] !== IS_NULL) throw unsupported('A filter on NaN or on not-null');
    return { kind: 'isNull', path: readField(unary['field']) };
  }
  const field = toMessage(message['fieldFilter']);
  if (!field?.['op']) throw invalid('A filter has no operator.');
  const op = OPERATORS[field['op'] as number];
  if (!op) throw unsupported('A filter with !=, not-in, array-contains or array-contains-any');
  if (!has(field, 'value')) throw invalid('A filter has no value.');
  const value = field['value'] as Value;
  if (!isComparable(value) && op !== '==') throw unsupported('An operator other than == with null or NaN');
  return { kind: 'field', path: readField(field['field']), op, value };
}

function readCursor(value: unknown): Cursor | undefined {
  const cursor = toMessage(value);
  return cursor && { values: cursor['values'] as Value[], before: Boolean(cursor['before']) };
}
