import { toNumber, type Message } from './codec';
import { invalid, unsupported } from './errors';
import { has, readField, toList, toMessage, toText } from './message-readers';
import { parseFieldPath } from './paths';
import type { Aggregation, Cursor, Filter, Operator, StructuredQuery, UnaryOperator } from './requests';
import type { Value } from './values';

/* Decodes queries and aggregations. */

/** Reads the `StructuredQuery` of a request. */
export function readQuery(request: Message, value: unknown): StructuredQuery {
  if (toMessage(request['explainOptions'])) throw unsupported('Query explain');
  const query = toMessage(value);
  if (!query) throw invalid('The query is missing.');
  const from = toList(query['from']);
  if (from.length > 1) throw invalid('A query reads from one collection only.');
  if (toMessage(query['findNearest'])) throw unsupported('Vector search (findNearest)');
  const limit = toMessage(query['limit']);
  const where = toMessage(query['where']);
  const select = toMessage(query['select']);
  return {
    parent: toText(request['parent']),
    collectionId: toText(from[0]?.['collectionId'] ?? '') || undefined,
    allDescendants: Boolean(from[0]?.['allDescendants']),
    filter: where && readFilter(where),
    orderBy: toList(query['orderBy']).map((order) => ({
      path: readField(order['field']),
      descending: order['direction'] === DESCENDING,
    })),
    startAt: readCursor(query['startAt']),
    endAt: readCursor(query['endAt']),
    offset: toNumber(query['offset']),
    limit: limit && toNumber(limit['value']),
    select: select && toList(select['fields']).map((field) => parseFieldPath(toText(field['fieldPath']))),
  };
}

/** Reads the aggregations of a query. One without a name is called `field_1`, `field_2`… */
export function readAggregations(messages: readonly Message[]): Aggregation[] {
  let unnamed = 0;
  return messages.map((message) => readAggregation(message, toText(message['alias']) || `field_${++unnamed}`));
}

/** The numbers of a descending order and of the operator of a composite filter, in the protocol. */
const DESCENDING = 2;
const OR = 2;

/** In the order of their numbers in the protocol, which begin at 1. */
const OPERATORS: readonly Operator[] = [
  ...(['<', '<=', '>', '>=', '==', '!='] as const),
  ...(['array-contains', 'in', 'array-contains-any', 'not-in'] as const),
];

/** In the order of their numbers in the protocol, which begin at 2. */
const UNARY_OPERATORS: readonly UnaryOperator[] = ['isNaN', 'isNull', 'isNotNaN', 'isNotNull'];

function readFilter(message: Message): Filter {
  const composite = toMessage(message['compositeFilter']);
  if (composite) {
    if (!composite['op']) throw invalid('Unsupported CompositeFilter operator.');
    const kind = composite['op'] === OR ? 'or' : 'and';
    return { kind, filters: toList(composite['filters']).map(readFilter) };
  }
  const unary = toMessage(message['unaryFilter']);
  if (unary) {
    const op = UNARY_OPERATORS[(unary['op'] as number) - 2];
    if (!op) throw invalid('A unary filter has no operator.');
    return { kind: 'unary', path: readField(unary['field']), op };
  }
  const field = toMessage(message['fieldFilter']);
  const op = OPERATORS[((field?.['op'] ?? 0) as number) - 1];
  if (!field || !op) throw invalid('A filter has no operator.');
  if (!has(field, 'value')) throw invalid('A filter has no value.');
  return { kind: 'field', path: readField(field['field']), op, value: field['value'] as Value };
}

function readCursor(value: unknown): Cursor | undefined {
  const cursor = toMessage(value);
  return cursor && { values: cursor['values'] as Value[], before: Boolean(cursor['before']) };
}

function readAggregation(message: Message, alias: string): Aggregation {
  const count = toMessage(message['count']);
  if (count) {
    const upTo = toMessage(count['upTo']);
    return { alias, kind: 'count', upTo: upTo && toNumber(upTo['value']) };
  }
  const kind = toMessage(message['sum']) ? 'sum' : 'avg';
  const operand = toMessage(message[kind]);
  if (!operand) throw invalid('An aggregation has no operator.');
  return { alias, kind, path: readField(operand['field']) };
}
