/** A log entry as Cloud Logging stores it. A filter names its fields by path. */
export interface LogEntry {
  logName?: string;
  resource: { type: string; labels?: Record<string, string> };
  jsonPayload?: Record<string, unknown>;
  textPayload?: string;
  httpRequest?: { status: number; userAgent: string };
}

/**
 * Evaluates a filter of docs/monitoring over a log entry. Supports only the part of the Logging query
 * language (https://cloud.google.com/logging/docs/view/logging-query-language) that these filters use.
 *
 * @throws Error for any other syntax, including AND beside OR without parentheses
 */
export function matchesFilter(filter: string, entry: LogEntry): boolean {
  const tokens = filter.match(/"[^"]*"|[()]|[<>!]=|[=:<>*]|[\w./-]+|\S/g) ?? [];
  const takeIf = (expected: string): boolean => {
    if (tokens[0] !== expected) return false;
    tokens.shift();
    return true;
  };
  const expectToken = (expected: string): void => {
    if (!takeIf(expected)) throw new Error(`expected ${expected} before "${tokens.join(' ')}" in filter: ${filter}`);
  };
  const takeValue = (): string => {
    const token = tokens.shift();
    if (token === undefined) throw new Error(`filter ends too early: ${filter}`);
    return token.replace(/^"(.*)"$/, '$1');
  };

  const parseExpression = (): boolean => {
    const terms = [parseTerm()];
    const operator = tokens[0] ?? '';
    if (operator === 'AND' || operator === 'OR') while (takeIf(operator)) terms.push(parseTerm());
    return operator === 'OR' ? terms.some(Boolean) : terms.every(Boolean);
  };
  const parseTerm = (): boolean => {
    if (takeIf('NOT')) return !parseTerm();
    const isLogId = takeIf('log_id');
    if (!takeIf('(')) return parseComparison();
    const result = isLogId ? entry.logName === takeValue() : parseExpression();
    expectToken(')');
    return result;
  };
  const parseComparison = (): boolean => {
    const value = getValue(entry, takeValue());
    const operator = takeValue();
    if (!takeIf('(')) return compare(value, operator, takeValue());
    const operands = [takeValue()];
    while (takeIf('OR')) operands.push(takeValue());
    expectToken(')');
    return operands.some((operand) => compare(value, operator, operand));
  };

  const result = parseExpression();
  if (tokens.length > 0) throw new Error(`unexpected "${tokens.join(' ')}" in filter: ${filter}`);
  return result;
}

/** Returns the value at a path such as `jsonPayload.event`. */
export const getValue = (entry: LogEntry, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], entry);

/** Compares as Cloud Logging does: a missing field meets no condition. */
function compare(value: unknown, operator: string, operand: string): boolean {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  switch (operator) {
    case '=':
      return text === operand;
    case '!=':
      return value !== undefined && text !== operand;
    case ':':
      return value !== undefined && (operand === '*' || text.includes(operand));
    case '>=':
      return Number(value) >= Number(operand);
    case '<=':
      return Number(value) <= Number(operand);
    case '>':
      return Number(value) > Number(operand);
    default:
      throw new Error(`unknown operator ${operator}`);
  }
}
