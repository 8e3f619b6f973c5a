import { JsonScanner } from './scanner';

/**
 * Parses a JSON text as `JSON.parse` does, but never gives it an object with an escaped member
 * name. V8 of Node 24 may take such a name for another one that it has parsed before
 * (https://github.com/nodejs/node/issues/63785), so one client's body would change another's. A
 * text without a backslash has no escaped name; values are not affected.
 *
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  return text.includes('\\') ? parseByTokens(text) : (JSON.parse(text) as unknown);
}

/** Makes objects and arrays itself: `JSON.parse` only sees strings, numbers and literals, each as a value. */
function parseByTokens(text: string): unknown {
  const scanner = new JsonScanner();
  /** Complete values, and names, whose object or array is still open. */
  const values: unknown[] = [];
  const names: string[] = [];
  /** How many there were of both when each open object or array began. */
  const starts: { values: number; names: number }[] = [];
  for (let end = scanner.next(text, 0, true); end !== undefined; end = scanner.next(text, end, true)) {
    const token = text.slice(scanner.tokenStart, end);
    if (token === ',' || token === ':') continue;
    if (token === '{' || token === '[') {
      starts.push({ values: values.length, names: names.length });
    } else if (token === ']' || token === '}') {
      const start = starts.pop() ?? { values: 0, names: 0 };
      const items = values.splice(start.values);
      values.push(token === ']' ? items : toObject(names.splice(start.names), items));
    } else if (scanner.expected === ':') {
      names.push(JSON.parse(token) as string);
    } else {
      values.push(JSON.parse(token));
    }
  }
  if (scanner.errorIndex !== undefined) throw new SyntaxError('not JSON');
  return values[0];
}

/** Of several values with the same name the last one counts, as with `JSON.parse`. */
function toObject(names: readonly string[], values: readonly unknown[]): object {
  const object: Record<string, unknown> = {};
  for (const [i, value] of values.entries()) {
    const name = names[i] ?? '';
    if (name !== '__proto__') object[name] = value;
    // An assignment would change the prototype.
    else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}
