/** Filters of Cloud Logging and of Cloud Monitoring, as far as the files in docs/monitoring use their language. */

/** Returns the value at a path such as `jsonPayload.status`; undefined if there is none. */
export type Lookup = (path: string) => unknown;

export type Filter = (lookup: Lookup) => boolean;

type Comparison = (found: unknown, expected: string) => boolean;

const SEVERITIES = ['DEFAULT', 'DEBUG', 'INFO', 'NOTICE', 'WARNING', 'ERROR', 'CRITICAL', 'ALERT', 'EMERGENCY'];

/** Converts to what is compared: a severity by its rank, everything else as a number. */
function toNumber(value: unknown): number {
  if (typeof value === 'number') return value;
  const rank = SEVERITIES.indexOf(toText(value));
  return rank === -1 ? Number(value) : rank;
}

/** Converts a value as an extractor of a label does: a missing one is empty. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  '=': (found, expected) => toText(found) === expected,
  '!=': (found, expected) => toText(found) !== expected,
  '>=': (found, expected) => toNumber(found) >= toNumber(expected),
  '<=': (found, expected) => toNumber(found) <= toNumber(expected),
  '>': (found, expected) => toNumber(found) > toNumber(expected),
  '<': (found, expected) => toNumber(found) < toNumber(expected),
  '=~': (found, expected) => new RegExp(expected).test(toText(found)),
  ':': (found, expected) => toText(found).toLowerCase().includes(expected.toLowerCase()),
};

const REGEX_FUNCTION = 'monitoring.regex.full_match';

const TOKEN = /\s*("(?:[^"\\]|\\.)*"|=~|!=|>=|<=|[()=<>:]|[\w.@/-]+)/y;

/** @throws Error at what this reader does not know, so that no filter passes unread */
export function parseFilter(text: string): Filter {
  const tokens = tokenize(text);
  let next = 0;
  const take = () => tokens[next++] ?? '';
  const takeIf = (token: string) => tokens[next] === token && take() === token;
  const fail = (token: string): never => {
    throw new Error(`unexpected ${token === '' ? 'end' : token} in the filter ${text}`);
  };
  const expectToken = (token: string) => {
    const found = take();
    if (found !== token) fail(found);
  };

  const parseOr = (): Filter => {
    const parts = [parseAnd()];
    while (takeIf('OR')) parts.push(parseAnd());
    return (lookup) => parts.some((part) => part(lookup));
  };
  const parseAnd = (): Filter => {
    const parts = [parseTerm()];
    while (takeIf('AND')) parts.push(parseTerm());
    return (lookup) => parts.every((part) => part(lookup));
  };
  const parseTerm = (): Filter => {
    if (takeIf('NOT')) {
      const term = parseTerm();
      return (lookup) => !term(lookup);
    }
    if (takeIf('(')) {
      const inner = parseOr();
      expectToken(')');
      return inner;
    }
    return parseComparison();
  };
  const parseComparison = (): Filter => {
    const path = take();
    if (!/^[a-zA-Z][\w.]*$/.test(path)) fail(path);
    const operator = take();
    const compare = COMPARISONS[operator] ?? fail(operator);
    if (takeIf(REGEX_FUNCTION)) {
      expectToken('(');
      const pattern = new RegExp(`^(?:${parseValue(take())})$`);
      expectToken(')');
      if (operator !== '=') fail(operator);
      return (lookup) => pattern.test(toText(lookup(path)));
    }
    const expected = parseValue(take());
    return (lookup) => {
      const found = lookup(path);
      // A comparison with a field that an entry does not have is false, `!=` included.
      return found !== undefined && compare(found, expected);
    };
  };
  const parseValue = (token: string): string => {
    if (token.startsWith('"')) return JSON.parse(token) as string;
    return /^[\w.-]+$/.test(token) ? token : fail(token);
  };

  const filter = parseOr();
  if (next < tokens.length) fail(take());
  return filter;
}

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  const trimmed = text.trimEnd();
  while (TOKEN.lastIndex < trimmed.length) {
    const from = TOKEN.lastIndex;
    const token = TOKEN.exec(trimmed)?.[1];
    if (token === undefined) throw new Error(`cannot read ${trimmed.slice(from)} in the filter ${text}`);
    tokens.push(token);
  }
  return tokens;
}
