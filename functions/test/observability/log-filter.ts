/** A log entry as Cloud Logging stores it; a filter names its fields by path. */
export interface LogEntry {
  logName?: string;
  resource: { type: string; labels?: Record<string, string> };
  jsonPayload?: Record<string, unknown>;
  textPayload?: string;
}

/**
 * Evaluates a filter of docs/monitoring over a log entry. It knows only the part of the Logging query
 * language (https://cloud.google.com/logging/docs/view/logging-query-language) that those files use.
 *
 * @throws Error for any other syntax, also for AND beside OR without parentheses
 */
export function matchesFilter(filter: string, entry: LogEntry): boolean {
  const tokens = filter.match(/"[^"]*"|[()]|[<>!]=|=~|[=:<>*]|[\w./-]+|\S/g) ?? [];
  const take = (): string => {
    const token = tokens.shift();
    if (token === undefined) throw new Error(`filter ends too early: ${filter}`);
    return token;
  };
  const takeIf = (expected: string): boolean => {
    if (tokens[0] !== expected) return false;
    tokens.shift();
    return true;
  };
  const expectToken = (expected: string): void => {
    if (!takeIf(expected)) throw new Error(`expected ${expected} before "${tokens.join(' ')}" in filter: ${filter}`);
  };

  const parseExpression = (): boolean => {
    const terms = [parseTerm()];
    const operator = tokens[0] ?? '';
    if (operator === 'AND' || operator === 'OR') while (takeIf(operator)) terms.push(parseTerm());
    return operator === 'OR' ? terms.some(Boolean) : terms.every(Boolean);
  };
  const parseTerm = (): boolean => {
    if (takeIf('NOT')) return !parseTerm();
    const path = take();
    if (path !== '(' && path !== 'log_id') return parseComparison(path);
    if (path === 'log_id') expectToken('(');
    const result = path === 'log_id' ? entry.logName === unquote(take()) : parseExpression();
    expectToken(')');
    return result;
  };
  const parseComparison = (path: string): boolean => {
    const value = getValue(entry, path);
    const operator = take();
    const operands = takeIf('(') ? parseAlternatives() : [unquote(take())];
    return operands.some((operand) => compare(value, operator, operand));
  };
  const parseAlternatives = (): string[] => {
    const operands = [unquote(take())];
    while (takeIf('OR')) operands.push(unquote(take()));
    expectToken(')');
    return operands;
  };

  const result = parseExpression();
  if (tokens.length > 0) throw new Error(`unexpected "${tokens.join(' ')}" in filter: ${filter}`);
  return result;
}

const unquote = (token: string) => token.replace(/^"(.*)"$/, '$1');

const getValue = (entry: LogEntry, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], entry);

/** Compares as Cloud Logging does: a field that is missing meets no condition. */
function compare(value: unknown, operator: string, operand: string): boolean {
  if (value === undefined) return false;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  switch (operator) {
    case '=':
      return text === operand;
    case '!=':
      return text !== operand;
    case ':':
      return operand === '*' || text.includes(operand);
    case '=~':
      return new RegExp(operand).test(text);
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
