const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;

const SPACES = /[ \t\n\r]*/y;

type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | 'comma or end';

/**
 * Finds where a text stops being JSON. `JSON.parse` tells the position for some errors only. Slower than `JSON.parse`, so
 * only for a text that it has rejected.
 *
 * @returns index of the first character that no JSON text continues with, the text's length if it ends too early,
 * undefined if it is JSON
 */
export function findSyntaxError(text: string): number | undefined {
  return new SyntaxScanner(text).scan();
}

class SyntaxScanner {
  readonly #text: string;
  #index = 0;
  /** The characters that close the open objects and arrays, outermost first. */
  readonly #closers: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  scan(): number | undefined {
    let expected: Expected | undefined = 'value';
    while (expected !== undefined) {
      this.#skipSpaces();
      if (this.#index === this.#text.length) break;
      expected = this.#scanToken(expected);
    }
    return expected === 'comma or end' && this.#closers.length === 0 ? undefined : this.#index;
  }

  /** @returns what may follow the token; undefined with the index at the error */
  #scanToken(expected: Expected): Expected | undefined {
    switch (expected) {
      case ':':
        return this.#skip(':') ? 'value' : undefined;
      case 'comma or end':
        if (this.#closers.length > 0 && this.#skip(',')) return this.#closers.at(-1) === '}' ? 'name' : 'value';
        return this.#close();
      case 'name or }':
        if (this.#isAt('}')) return this.#close();
        return this.#scanString() ? ':' : undefined;
      case 'name':
        return this.#scanString() ? ':' : undefined;
      case 'value or ]':
        if (this.#isAt(']')) return this.#close();
        return this.#scanValue();
      case 'value':
        return this.#scanValue();
    }
  }

  #scanValue(): Expected | undefined {
    if (this.#skip('{')) {
      this.#closers.push('}');
      return 'name or }';
    }
    if (this.#skip('[')) {
      this.#closers.push(']');
      return 'value or ]';
    }
    return this.#scanScalar() ? 'comma or end' : undefined;
  }

  #scanScalar(): boolean {
    if (this.#isAt('"')) return this.#scanString();
    return this.#isAt('tfn') ? this.#scanLiteral() : this.#scanNumber();
  }

  #close(): Expected | undefined {
    if (this.#closers.length === 0 || !this.#skip(this.#closers.at(-1) ?? '')) return undefined;
    this.#closers.pop();
    return 'comma or end';
  }

  #scanString(): boolean {
    if (!this.#skip('"')) return false;
    for (;;) {
      const code = this.#text.charCodeAt(this.#index);
      if (code === QUOTE) return this.#skip('"');
      // Also at the end of the text, where the code is NaN.
      if (!(code >= FIRST_PRINTABLE)) return false;
      this.#index += 1;
      if (code === BACKSLASH && !this.#scanEscape()) return false;
    }
  }

  #scanEscape(): boolean {
    if (!this.#skip('u')) return this.#skip('"\\/bfnrt');
    for (let digits = 0; digits < 4; digits += 1) if (!this.#skip('0123456789abcdefABCDEF')) return false;
    return true;
  }

  #scanLiteral(): boolean {
    const literal = ['true', 'false', 'null'].find((word) => this.#isAt(word.charAt(0))) ?? '';
    for (let i = 0; i < literal.length; i += 1) if (!this.#skip(literal.charAt(i))) return false;
    return true;
  }

  #scanNumber(): boolean {
    this.#skip('-');
    if (!this.#skip('0') && !this.#skipDigits()) return false;
    if (this.#skip('.') && !this.#skipDigits()) return false;
    if (!this.#skip('eE')) return true;
    this.#skip('+-');
    return this.#skipDigits();
  }

  /** @returns whether there was a digit */
  #skipDigits(): boolean {
    const start = this.#index;
    while (this.#skip('0123456789'));
    return this.#index > start;
  }

  #skipSpaces(): void {
    SPACES.lastIndex = this.#index;
    SPACES.test(this.#text);
    this.#index = SPACES.lastIndex;
  }

  #isAt(characters: string): boolean {
    return this.#index < this.#text.length && characters.includes(this.#text.charAt(this.#index));
  }

  #skip(characters: string): boolean {
    if (!this.#isAt(characters)) return false;
    this.#index += 1;
    return true;
  }
}
