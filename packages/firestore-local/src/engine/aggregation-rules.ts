import { invalid } from '../protocol/errors';
import { isInequality } from './indexes';
import { compareFieldPaths, isName, type FieldPath } from '../protocol/paths';
import { GROUP_BELOW_DOCUMENT, firstProblem, getTerms, isBelowDocument } from './query-rules';
import type { Aggregation, StructuredQuery } from '../protocol/requests';

/*
 * The aggregations that Firestore refuses, whatever is stored.
 * https://firebase.google.com/docs/firestore/quotas and https://firebase.google.com/docs/firestore/query-data/aggregation-queries
 */

const MAX_AGGREGATIONS = 5;
const MAX_ALIAS_BYTES = 1500;

/** Returns the first problem of the aggregations of a query, or undefined if there is none. */
type AggregationRule = (aggregations: readonly Aggregation[]) => string | undefined;

/** The rules, in the order in which they are checked. */
const AGGREGATION_RULES: readonly AggregationRule[] = [
  ({ length }) => (length === 0 ? 'Aggregations can not be empty.' : undefined),
  ({ length }) =>
    length > MAX_AGGREGATIONS
      ? `The maximum number of aggregations allowed in an aggregation query is ${MAX_AGGREGATIONS}. Received: ${length}`
      : undefined,
  (aggregations) => firstProblem(aggregations, describeAliasProblem),
  (aggregations) =>
    aggregations.some((each) => each.kind === 'count' && each.upTo !== undefined && each.upTo < 0)
      ? 'The `up_to` value of a count must not be negative.'
      : undefined,
  (aggregations) =>
    new Set(aggregations.map(({ alias }) => alias)).size < aggregations.length
      ? 'Aggregation aliases contain duplicate alias.'
      : undefined,
];

/** @throws RpcError INVALID_ARGUMENT for aggregations that Firestore refuses in any query */
export function assertAggregations(aggregations: readonly Aggregation[]): void {
  const problem = firstProblem(AGGREGATION_RULES, (rule) => rule(aggregations));
  if (problem !== undefined) throw invalid(problem);
}

function describeAliasProblem({ alias }: Aggregation): string | undefined {
  if (/^__.*__$/s.test(alias)) return `The alias "${alias}" is reserved.`;
  return Buffer.byteLength(alias) > MAX_ALIAS_BYTES ? `The alias is longer than ${MAX_ALIAS_BYTES} bytes.` : undefined;
}

const isAmong =
  (paths: readonly FieldPath[]) =>
  (path: FieldPath): boolean =>
    paths.some((each) => compareFieldPaths(each, path) === 0);

/** @throws RpcError INVALID_ARGUMENT for an order by name that leaves no place for the aggregated fields, or a projection without them */
export function assertAggregated(source: StructuredQuery, aggregated: readonly FieldPath[]): void {
  const { orderBy, filter, select, allDescendants } = source;
  if (aggregated.some(isName)) throw invalid('Aggregations are not supported for the property: __name__');
  if (select !== undefined && !aggregated.every(isAmong(select)))
    throw invalid('An aggregated field is not in the projection of the query.');
  const terms = filter ? getTerms(filter) : [];
  const ordered = [...orderBy, ...terms.filter(isInequality)].map(({ path }) => path);
  if (allDescendants && isBelowDocument(source) && aggregated.length > 0) throw invalid(GROUP_BELOW_DOCUMENT);
  const isByName = [...orderBy, ...terms].some(({ path }) => isName(path));
  if (isByName && !aggregated.every(isAmong(ordered))) {
    throw invalid('The query is ordered by __name__ before the aggregated fields. Order it by those fields, too.');
  }
}
