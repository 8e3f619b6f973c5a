import { ValidationError } from '../errors';

/** What becomes of a body's text, which comes piece by piece and may be cut anywhere. */
export interface BodyParser<Body> {
  write(text: string): void;
  /** The value, once the text is whole. @throws InvalidPayload */
  end(): Body;
}

/** Reads a text that is whole already. @throws InvalidPayload */
export function parseText<Body>(reader: BodyParser<Body>, text: string): Body {
  reader.write(text);
  return reader.end();
}

/** Reads JSON that is small, and has it judged as a whole. */
export function createJsonParser<Body>(judge: (value: unknown) => Body): BodyParser<Body> {
  const texts: string[] = [];
  return {
    write: (text) => void texts.push(text),
    end: () => judge(parseJson(texts.splice(0).join(''))),
  };
}

/** What takes the members of an object that is too large to be held, in the order in which they come. */
export interface MemberHandler {
  /** An object begins; of several of the same name the last one counts, as with `JSON.parse`. */
  onObjectStart(): void;
  onMember(name: string, value: unknown): void;
}

/** Members that are parsed at a time. */
const MEMBERS_PER_BATCH = 1000;

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
export class StreamingJsonParser {
  readonly #name: string;
  readonly #members: MemberHandler;
  /** The text but for the members. */
  #envelope: string[] = [];
  /** How many objects and arrays are open. */
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The string since the last comma directly in the outermost object, as much of it as has come: at a brace, its name. */
  #lastKey = '';
  /** Within the large object: what of it is not parsed yet. */
  #memberBuffer: MemberBuffer | undefined;
  #malformed = false;

  /** @param name the member that may be large */
  constructor(name: string, members: MemberHandler) {
    this.#name = name;
    this.#members = members;
  }

  write(text: string): void {
    if (this.#malformed) return;
    const quotes = new CharacterFinder('"', text);
    const backslashes = new CharacterFinder('\\', text);
    let from = 0;
    let lastKeyStart = 0;
    for (let i = 0; i < text.length; i += 1) {
      if (this.#inString) {
        if (this.#escaped) {
          this.#escaped = false;
          continue;
        }
        i = Math.min(quotes.nextIndex(i), backslashes.nextIndex(i));
        this.#escaped = i < text.length && i === backslashes.nextIndex(i);
        this.#inString = this.#escaped || i === text.length;
        if (!this.#inString && this.#depth === 1) this.#lastKey += text.slice(lastKeyStart, i + 1);
        continue;
      }
      const code = text.charCodeAt(i);
      switch (code) {
        case QUOTE:
          this.#inString = true;
          if (this.#depth === 1) {
            this.#lastKey = '';
            lastKeyStart = i;
          }
          break;
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          this.#depth += 1;
          if (this.#depth === 2 && code === OPEN_OBJECT && this.#isStreamedMember()) {
            this.#envelope.push(text.slice(from, i + 1));
            from = i + 1;
            this.#memberBuffer = new MemberBuffer(this.#members);
          }
          break;
        case COLON:
        case COMMA:
          if (this.#depth === 1 && code === COMMA) this.#lastKey = '';
          if (this.#depth !== 2 || this.#memberBuffer === undefined) break;
          this.#malformed ||= !this.#memberBuffer.endToken(text.slice(from, i), code === COLON);
          from = i + 1;
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#depth -= 1;
          if (this.#depth !== 1 || this.#memberBuffer === undefined) break;
          this.#malformed ||= !this.#memberBuffer.end(text.slice(from, i));
          from = i;
          this.#memberBuffer = undefined;
          break;
      }
    }
    if (this.#inString && this.#depth === 1) this.#lastKey += text.slice(lastKeyStart);
    if (this.#memberBuffer === undefined) this.#envelope.push(text.slice(from));
    else this.#memberBuffer.append(text.slice(from));
  }

  /** The value, with the large object empty. @throws InvalidPayload for what is not JSON */
  end(): unknown {
    return this.#malformed ? throwInvalidJson() : parseJson(this.#envelope.join(''));
  }

  #isStreamedMember(): boolean {
    if (!this.#lastKey.includes('\\')) return this.#lastKey === `"${this.#name}"`;
    try {
      return JSON.parse(this.#lastKey) === this.#name;
    } catch {
      return false;
    }
  }
}

/** The members of an object, as far as they have come and are not parsed yet. */
class MemberBuffer {
  readonly #members: MemberHandler;
  /** Names and values by turns. */
  #tokens: string[] = [];
  /** As much of the next part as has come. */
  #pending = '';
  #isFirst = true;

  constructor(members: MemberHandler) {
    this.#members = members;
    members.onObjectStart();
  }

  /** Takes the beginning of a part, or more of it. */
  append(text: string): void {
    this.#pending += text;
  }

  /** Takes the rest of a name, up to its colon, or of a value, up to its comma. @returns false for what is not JSON */
  endToken(text: string, isName: boolean): boolean {
    if ((this.#tokens.length % 2 === 0) !== isName) return false;
    this.#tokens.push(this.#pending + text);
    this.#pending = '';
    return this.#tokens.length < 2 * MEMBERS_PER_BATCH || this.#parse();
  }

  /** Takes the rest of the last value, up to the closing brace; there may be no member at all. */
  end(text: string): boolean {
    const isEmpty = this.#isFirst && this.#tokens.length === 0 && (this.#pending + text).trim() === '';
    return this.endToken(text, isEmpty) && this.#parse();
  }

  #parse(): boolean {
    let flat: unknown[];
    try {
      flat = JSON.parse(`[${this.#tokens.join()}]`) as unknown[];
    } catch {
      return false;
    }
    this.#tokens = [];
    this.#isFirst = false;
    for (let i = 0; i < flat.length; i += 2) {
      const name = flat[i];
      if (typeof name !== 'string') return false;
      this.#members.onMember(name, flat[i + 1]);
    }
    return true;
  }
}

/** Where a character stands in a text, looked up in ascending order. */
class CharacterFinder {
  #next = -1;

  constructor(
    readonly character: string,
    readonly text: string,
  ) {}

  /** The first place from there on; the text's length if there is none. */
  nextIndex(start: number): number {
    if (this.#next < start) {
      const found = this.text.indexOf(this.character, start);
      this.#next = found === -1 ? this.text.length : found;
    }
    return this.#next;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return throwInvalidJson(text === '' ? 'nothing' : undefined);
  }
}

function throwInvalidJson(what = 'other text'): never {
  throw new ValidationError([{ path: 'body', message: `Expected JSON, received ${what}` }]);
}
