type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | 'comma or end';
const EXPECTED_OR_CLOSER: Expected[] = ['value or ]', 'name or }', 'comma or end'];

/** JSON with more levels is rejected, because it takes longer to parse and no request needs it. */
export const MAX_DEPTH = 64;

export interface SyntaxProblem {
  /** Index of the first character that is wrong or opens a level too many; the text's length if it ends too early. */
  index: number;
  received: string;
}

const SPACE = 0x20;
const SPACES = /[ \t\n\r]*/y;
/** A string without its closing quotation mark. */
const OPEN_STRING = /"[^"\\\0-\x1f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\0-\x1f]*)*/.source;
/** A number that the next character cannot continue. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\d.eE])/.source;
const SCALAR = new RegExp(`${OPEN_STRING}"|${NUMBER}|true|false|null`, 'y');

const PART_OF_ESCAPE = /\\(?:u[\da-fA-F]{0,3})?/.source;
const PART_OF_NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.(?:\d+(?:[eE][+-]?\d*)?)?|[eE][+-]?\d*)?)?/.source;
const PART_OF_LITERAL = /t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?/.source;
/** The beginning of a scalar, up to the first wrong character or the end of the text. */
const PART_OF_SCALAR = new RegExp(`${OPEN_STRING}(?:${PART_OF_ESCAPE})?|${PART_OF_LITERAL}|${PART_OF_NUMBER}`, 'y');

/**
 * Finds the tokens of a JSON text that arrives in chunks, and the place where it stops being JSON.
 * `JSON.parse` reports that place for some errors only.
 */
export class JsonScanner {
  tokenStart = 0;
  problem: SyntaxProblem | undefined;
  expected: Expected = 'value';
  readonly #closers: string[] = [];

  get depth(): number {
    return this.#closers.length;
  }

  /**
   * @param from index after the last token
   * @param isLast whether the text is complete; if not, a scalar at its end counts as incomplete
   * @returns index after the next token; undefined without a complete token, or if there is a {@link problem}
   */
  next(text: string, from: number, isLast: boolean): number | undefined {
    // Most tokens have no whitespace before them, and a comparison is faster than a pattern.
    const start = text.charCodeAt(from) > SPACE ? from : match(SPACES, text, from);
    this.tokenStart = start;
    const first = text.charAt(start);
    if (first === '') {
      const isComplete = this.expected === 'comma or end' && this.depth === 0;
      return isLast && !isComplete ? this.#fail(text, start) : undefined;
    }
    const closer = this.#closers.at(-1);
    if (first === closer && EXPECTED_OR_CLOSER.includes(this.expected)) {
      this.#closers.pop();
      return this.#accept(start + 1, 'comma or end');
    }
    switch (this.expected) {
      case ':':
        return first === ':' ? this.#accept(start + 1, 'value') : this.#fail(text, start);
      case 'comma or end':
        if (first !== ',' || closer === undefined) return this.#fail(text, start);
        return this.#accept(start + 1, closer === '}' ? 'name' : 'value');
      case 'name or }':
      case 'name':
        return first === '"' ? this.#acceptScalar(text, isLast, ':') : this.#fail(text, start);
      case 'value or ]':
      case 'value':
        if (first !== '{' && first !== '[') return this.#acceptScalar(text, isLast, 'comma or end');
        if (this.depth === MAX_DEPTH) return this.#fail(text, start, `more than ${MAX_DEPTH} levels`);
        this.#closers.push(first === '{' ? '}' : ']');
        return this.#accept(start + 1, first === '{' ? 'name or }' : 'value or ]');
    }
  }

  #acceptScalar(text: string, isLast: boolean, next: Expected): number | undefined {
    const start = this.tokenStart;
    const scalarEnd = match(SCALAR, text, start);
    const isScalar = scalarEnd > start;
    const end = isScalar ? scalarEnd : match(PART_OF_SCALAR, text, start);
    if (end === text.length && !isLast) return undefined;
    return isScalar ? this.#accept(end, next) : this.#fail(text, end);
  }

  #accept(end: number, next: Expected): number {
    this.expected = next;
    return end;
  }

  #fail(text: string, index: number, received?: string): number | undefined {
    this.problem = {
      index,
      received: received ?? (index === text.length ? 'text that ends too early,' : 'other text'),
    };
    return undefined;
  }
}

/** @returns undefined if the text is JSON with at most {@link MAX_DEPTH} levels */
export function findSyntaxProblem(text: string): SyntaxProblem | undefined {
  const scanner = new JsonScanner();
  let index: number | undefined = 0;
  while (index !== undefined) index = scanner.next(text, index, true);
  return scanner.problem;
}

/** @returns the index after the match of a sticky pattern at `start`; `start` itself without a match */
function match(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}
