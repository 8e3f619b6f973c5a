import { runInThisContext } from 'node:vm';

/** A log entry as Cloud Logging stores it. A filter names its fields by path. */
export interface LogEntry {
  /** The minute in which it was logged, 0 by default. Most tests evaluate the policies at minute 0. */
  minute?: number;
  logName?: string;
  resource: { type: string; labels?: Record<string, string> };
  jsonPayload?: Record<string, unknown>;
  textPayload?: string;
  httpRequest?: { status: number; userAgent: string };
}

const COMPARISON = /([\w.]+)(=~|!=|[<>]=|[=:<>])(\([^)]*\)|"[^"]*"|[\w*.-]+)/g;

/**
 * Evaluates a filter of docs/monitoring over a log entry, or over a point of a metric. Supports only the part of the
 * query language (https://cloud.google.com/logging/docs/view/logging-query-language) that these filters use.
 *
 * @throws Error for most other syntax, and for AND beside OR without parentheses
 */
export function matchesFilter(filter: string, entry: object): boolean {
  const script = filter
    .replace(/log_id\("([^"]*)"\)/g, 'logName="$1"')
    .replace(/=monitoring\.regex\.full_match\("([^"]*)"\)/g, '=~"^($1)$"')
    .replace(COMPARISON, (_, path: string, operator: string, operands: string) =>
      String(
        operands
          .replace(/^\((.*)\)$/, '$1')
          .split(' OR ')
          .some((operand) => compare(getValue(entry, path), operator, operand.replace(/^"(.*)"$/, '$1'))),
      ),
    )
    .replaceAll('NOT ', '!')
    .replaceAll(' AND ', ' && ')
    .replaceAll(' OR ', ' || ');
  if (/&&[^()]*\|\||\|\|[^()]*&&/.test(script)) throw new Error(`AND beside OR in filter: ${filter}`);
  return runInThisContext(script) as boolean;
}

/** Returns the value at a path such as `jsonPayload.event`. */
export const getValue = (entry: object, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], entry);

/** A missing field meets no condition, as in Cloud Logging. Unlike there, case matters. */
function compare(value: unknown, operator: string, operand: string): boolean {
  if (value === undefined) return false;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  switch (operator) {
    case '=':
      return text === operand;
    case '!=':
      return text !== operand;
    case '=~':
      return new RegExp(operand).test(text);
    case ':':
      return operand === '*' || text.includes(operand);
    case '>=':
      return Number(value) >= Number(operand);
    case '<=':
      return Number(value) <= Number(operand);
    default:
      return operator === '>' ? Number(value) > Number(operand) : Number(value) < Number(operand);
  }
}
