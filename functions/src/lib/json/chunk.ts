/** One chunk of a text, with lookups whose indexes ascend, so that a chunk is searched once at most for each. */
export class Chunk {
  readonly text: string;
  /** Where the part begins that is not handed on yet. */
  partStart = 0;
  readonly #quotes: CharacterFinder;
  readonly #backslashes: CharacterFinder;
  #index = 0;
  #byteOffset: number;

  /** @param byteOffset bytes of the chunks before this one */
  constructor(text: string, byteOffset: number) {
    this.text = text;
    this.#quotes = new CharacterFinder('"', text);
    this.#backslashes = new CharacterFinder('\\', text);
    this.#byteOffset = byteOffset;
  }

  /** @returns the index from `start` on of the next quotation mark or backslash, the text's length without one */
  nextInString(start: number): number {
    return Math.min(this.#quotes.nextIndex(start), this.#backslashes.nextIndex(start));
  }

  /** @returns the text from the last part's end up to `end` */
  takePart(end: number): string {
    const part = this.text.slice(this.partStart, end);
    this.partStart = end;
    return part;
  }

  /** @returns offset in the whole text; `index` at least that of the call before */
  byteOffsetAt(index: number): number {
    this.#byteOffset += Buffer.byteLength(this.text.slice(this.#index, index));
    this.#index = index;
    return this.#byteOffset;
  }
}

/** Finds a character by ascending indexes. */
class CharacterFinder {
  readonly #character: string;
  readonly #text: string;
  #found = -1;

  constructor(character: string, text: string) {
    this.#character = character;
    this.#text = text;
  }

  /** @returns the first index from `start` on, the text's length without one */
  nextIndex(start: number): number {
    if (this.#found < start) {
      const found = this.#text.indexOf(this.#character, start);
      this.#found = found === -1 ? this.#text.length : found;
    }
    return this.#found;
  }
}
