type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | 'comma or end';

const SPACE = 0x20;
const SPACES = /[ \t\n\r]*/y;
/** A string up to its closing quotation mark, or as much as there is of one; no part of an escape. */
const STRING = /"[^"\\\0-\x1f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\0-\x1f]*)*/y;
const PART_OF_ESCAPE = /\\(?:u[\da-fA-F]{0,3})?/y;
/** A number or the start of one, which ends with no digit. */
const NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.(?:\d+(?:[eE][+-]?\d*)?)?|[eE][+-]?\d*)?)?/y;
const FIRST_LETTER = 0x41;
const LITERAL = /t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?/y;
const LITERALS = ['true', 'false', 'null'];

/**
 * Finds the tokens of a JSON text that arrives in chunks, and where it stops being JSON, which `JSON.parse` tells for some
 * errors only.
 */
export class JsonScanner {
  /** Index of the last token. */
  tokenStart = 0;
  /** Index of the first character that no JSON text continues with, the text's length if it ends too early. */
  errorIndex: number | undefined;
  /** What may follow the last token. */
  expected: Expected = 'value';
  /** The characters that close the open objects and arrays, outermost first. */
  readonly #closers: string[] = [];

  /** How many objects and arrays are open. */
  get depth(): number {
    return this.#closers.length;
  }

  /**
   * Finds the next token.
   *
   * @param from index after the last token
   * @param isLast whether the text ends here; otherwise its last token may still grow
   * @returns index after the token; undefined without a complete one, or at an error
   */
  next(text: string, from: number, isLast: boolean): number | undefined {
    // Mostly there is none, and a pattern takes longer than a look.
    const start = text.charCodeAt(from) > SPACE ? from : match(SPACES, text, from);
    this.tokenStart = start;
    const first = text.charAt(start);
    if (first === '') {
      const isComplete = this.expected === 'comma or end' && this.depth === 0;
      return isLast && !isComplete ? this.#fail(start) : undefined;
    }
    switch (this.expected) {
      case ':':
        return first === ':' ? this.#accept(start + 1, 'value') : this.#fail(start);
      case 'comma or end':
        if (first !== ',' || this.depth === 0) return this.#close(first, start);
        return this.#accept(start + 1, this.#closers.at(-1) === '}' ? 'name' : 'value');
      case 'name or }':
      case 'name':
        if (first === '"') return this.#acceptScalar(scanString(text, start), text, isLast, ':');
        return this.expected === 'name' ? this.#fail(start) : this.#close(first, start);
      case 'value or ]':
        return first === ']' ? this.#close(first, start) : this.#acceptValue(first, text, isLast);
      case 'value':
        return this.#acceptValue(first, text, isLast);
    }
  }

  #acceptValue(first: string, text: string, isLast: boolean): number | undefined {
    const start = this.tokenStart;
    if (first === '{' || first === '[') {
      this.#closers.push(first === '{' ? '}' : ']');
      return this.#accept(start + 1, first === '{' ? 'name or }' : 'value or ]');
    }
    const scalar = first === '"' ? scanString(text, start) : scanNumberOrLiteral(text, start);
    return this.#acceptScalar(scalar, text, isLast, 'comma or end');
  }

  #acceptScalar({ end, isComplete }: Scalar, text: string, isLast: boolean, next: Expected): number | undefined {
    if (end === text.length && !isLast) return undefined;
    return isComplete ? this.#accept(end, next) : this.#fail(end);
  }

  #close(first: string, start: number): number | undefined {
    if (first !== this.#closers.at(-1)) return this.#fail(start);
    this.#closers.pop();
    return this.#accept(start + 1, 'comma or end');
  }

  #accept(end: number, next: Expected): number {
    this.expected = next;
    return end;
  }

  #fail(index: number): number | undefined {
    this.errorIndex = index;
    return undefined;
  }
}

/** @returns where a text stops being JSON; undefined if it is JSON */
export function findSyntaxError(text: string): number | undefined {
  const scanner = new JsonScanner();
  let index: number | undefined = 0;
  while (index !== undefined) index = scanner.next(text, index, true);
  return scanner.errorIndex;
}

interface Scalar {
  /** Index after the token, or where it stops being one. */
  end: number;
  isComplete: boolean;
}

function scanString(text: string, start: number): Scalar {
  const end = match(STRING, text, start);
  return text.charAt(end) === '"'
    ? { end: end + 1, isComplete: true }
    : { end: match(PART_OF_ESCAPE, text, end), isComplete: false };
}

function scanNumberOrLiteral(text: string, start: number): Scalar {
  const isNumber = text.charCodeAt(start) < FIRST_LETTER;
  const end = match(isNumber ? NUMBER : LITERAL, text, start);
  if (!isNumber) return { end, isComplete: LITERALS.includes(text.slice(start, end)) };
  const last = text.charAt(end - 1);
  return { end, isComplete: end > start && last >= '0' && last <= '9' };
}

/** @returns index after what a sticky pattern matches at `start`, `start` itself without a match */
function match(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}
