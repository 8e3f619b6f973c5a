import { JsonScanner } from './scanner';

/**
 * Parses a JSON text as `JSON.parse` does, but never gives it an object with an escaped member
 * name. Node 24's V8 may confuse such a name with one that it has parsed before
 * (https://github.com/nodejs/node/issues/63785), so one client's body could change the meaning of
 * another's. A text without a backslash has no escaped name.
 *
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  return text.includes('\\') ? parseByTokens(text) : (JSON.parse(text) as unknown);
}

/** Builds objects and arrays itself. `JSON.parse` receives only strings, numbers and literals, each as a value. */
function parseByTokens(text: string): unknown {
  const scanner = new JsonScanner();
  /** Complete values and names whose object or array is still open. */
  const values: unknown[] = [];
  const names: string[] = [];
  /** The number of values and names at the start of each open object or array. */
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
  if (scanner.problem !== undefined) throw new SyntaxError('not JSON');
  return values[0];
}

/** The last of several values with the same name counts, as with `JSON.parse`. */
function toObject(names: readonly string[], values: readonly unknown[]): object {
  const object: Record<string, unknown> = {};
  for (const [i, value] of values.entries()) {
    const name = names[i] ?? '';
    if (name !== '__proto__') object[name] = value;
    // Assigning `__proto__` would change the prototype.
    else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}
