import { InvalidPayload } from './errors';

/** What becomes of a body's text, which comes piece by piece and may be cut anywhere. */
export interface BodyReader<Body> {
  read(text: string): void;
  /** The value, once the text is whole. @throws InvalidPayload */
  end(): Body;
}

/** Reads a text that is whole already. @throws InvalidPayload */
export function readWhole<Body>(reader: BodyReader<Body>, text: string): Body {
  reader.read(text);
  return reader.end();
}

/** Reads JSON that is small, and has it judged as a whole. */
export function wholeJson<Body>(judge: (value: unknown) => Body): BodyReader<Body> {
  const texts: string[] = [];
  return {
    read: (text) => void texts.push(text),
    end: () => judge(parse(texts.splice(0).join(''))),
  };
}

/** What takes the members of an object that is too large to be held, in the order in which they come. */
export interface Members {
  /** An object begins; of several of the same name the last one counts, as with `JSON.parse`. */
  begin(): void;
  add(name: string, value: unknown): void;
}

/** Members that are parsed at a time. */
const GROUP = 1000;

const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Reads the JSON of an object of which one member, itself an object, may be too large to be held: the members of that are
 * parsed in groups as they come, and all else once the text is whole, with the large object empty in its place. Neither the
 * text nor what is parsed of it is held for longer.
 *
 * Accepts exactly the texts that `JSON.parse` accepts, and has it do all the parsing. Here the text is only cut, behind the
 * braces around the members, at the commas between them and at their colons: where it is not JSON, one of its parts is not
 * either.
 *
 * A group is parsed as an array of names and values by turns. In an object, V8 of Node 24 may take an escaped name for one
 * that it has read in its place before, `5\"` for `5\\` (https://github.com/nodejs/node/issues/63785): a price of another product.
 */
export class LargeJson {
  readonly #name: string;
  readonly #members: Members;
  /** The text but for the members. */
  #rest: string[] = [];
  /** How many objects and arrays are open. */
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The string since the last comma directly in the outermost object, as much of it as has come: at a brace, its name. */
  #last = '';
  /** Within the large object: what of it is not parsed yet. */
  #inside: Unparsed | undefined;
  #malformed = false;

  /** @param name the member that may be large */
  constructor(name: string, members: Members) {
    this.#name = name;
    this.#members = members;
  }

  read(text: string): void {
    if (this.#malformed) return;
    const quotes = new Places('"', text);
    const backslashes = new Places('\\', text);
    let from = 0;
    let lastFrom = 0;
    for (let i = 0; i < text.length; i += 1) {
      if (this.#inString) {
        if (this.#escaped) {
          this.#escaped = false;
          continue;
        }
        i = Math.min(quotes.from(i), backslashes.from(i));
        this.#escaped = i < text.length && i === backslashes.from(i);
        this.#inString = this.#escaped || i === text.length;
        if (!this.#inString && this.#depth === 1) this.#last += text.slice(lastFrom, i + 1);
        continue;
      }
      const code = text.charCodeAt(i);
      switch (code) {
        case QUOTE:
          this.#inString = true;
          if (this.#depth === 1) {
            this.#last = '';
            lastFrom = i;
          }
          break;
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          this.#depth += 1;
          if (this.#depth === 2 && code === OPEN_OBJECT && this.#isLarge()) {
            this.#rest.push(text.slice(from, i + 1));
            from = i + 1;
            this.#inside = new Unparsed(this.#members);
          }
          break;
        case COLON:
        case COMMA:
          if (this.#depth === 1 && code === COMMA) this.#last = '';
          if (this.#depth !== 2 || this.#inside === undefined) break;
          this.#malformed ||= !this.#inside.part(text.slice(from, i), code === COLON);
          from = i + 1;
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#depth -= 1;
          if (this.#depth !== 1 || this.#inside === undefined) break;
          this.#malformed ||= !this.#inside.end(text.slice(from, i));
          from = i;
          this.#inside = undefined;
          break;
      }
    }
    if (this.#inString && this.#depth === 1) this.#last += text.slice(lastFrom);
    if (this.#inside === undefined) this.#rest.push(text.slice(from));
    else this.#inside.more(text.slice(from));
  }

  /** The value, with the large object empty. @throws InvalidPayload for what is not JSON */
  end(): unknown {
    return this.#malformed ? refuse() : parse(this.#rest.join(''));
  }

  #isLarge(): boolean {
    if (!this.#last.includes('\\')) return this.#last === `"${this.#name}"`;
    try {
      return JSON.parse(this.#last) === this.#name;
    } catch {
      return false;
    }
  }
}

/** The members of an object, as far as they have come and are not parsed yet. */
class Unparsed {
  readonly #members: Members;
  /** Names and values by turns. */
  #parts: string[] = [];
  /** As much of the next part as has come. */
  #next = '';
  #isFirst = true;

  constructor(members: Members) {
    this.#members = members;
    members.begin();
  }

  /** Takes the beginning of a part, or more of it. */
  more(text: string): void {
    this.#next += text;
  }

  /** Takes the rest of a name, up to its colon, or of a value, up to its comma. @returns false for what is not JSON */
  part(text: string, isName: boolean): boolean {
    if ((this.#parts.length % 2 === 0) !== isName) return false;
    this.#parts.push(this.#next + text);
    this.#next = '';
    return this.#parts.length < 2 * GROUP || this.#parse();
  }

  /** Takes the rest of the last value, up to the closing brace; there may be no member at all. */
  end(text: string): boolean {
    const isNone = this.#isFirst && this.#parts.length === 0 && (this.#next + text).trim() === '';
    return this.part(text, isNone) && this.#parse();
  }

  #parse(): boolean {
    let flat: unknown[];
    try {
      flat = JSON.parse(`[${this.#parts.join()}]`) as unknown[];
    } catch {
      return false;
    }
    this.#parts = [];
    this.#isFirst = false;
    for (let i = 0; i < flat.length; i += 2) {
      const name = flat[i];
      if (typeof name !== 'string') return false;
      this.#members.add(name, flat[i + 1]);
    }
    return true;
  }
}

/** Where a character stands in a text, looked up in ascending order. */
class Places {
  #next = -1;

  constructor(
    readonly character: string,
    readonly text: string,
  ) {}

  /** The first place from there on; the text's length if there is none. */
  from(start: number): number {
    if (this.#next < start) {
      const found = this.text.indexOf(this.character, start);
      this.#next = found === -1 ? this.text.length : found;
    }
    return this.#next;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return refuse(text === '' ? 'nothing' : undefined);
  }
}

function refuse(what = 'other text'): never {
  throw new InvalidPayload([{ path: 'body', message: `Expected JSON, received ${what}` }]);
}
