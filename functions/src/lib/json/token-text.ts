import type { StringBuilder } from '@streamparser/json/utils/bufferedString.js';

/**
 * Collects the text of a string or number for the tokenizer. Its own ways take three times as long, and lose U+FEFF: they
 * decode characters in pieces, each as if it began with a byte order mark.
 */
export class TokenText implements StringBuilder {
  /** Without lone surrogates, which the tokenizer counts. */
  byteLength = 0;
  #bytes = Buffer.allocUnsafe(1024);
  #length = 0;
  /** What comes before the bytes. */
  #text = '';

  appendChar(byte: number): void {
    if (this.#length === this.#bytes.length) this.#reserve(1);
    this.#bytes[this.#length] = byte;
    this.#length += 1;
    this.byteLength += 1;
  }

  appendBuf(source: Uint8Array, start = 0, end = source.length): void {
    const bytes = this.#reserve(end - start);
    // Most are short: faster than a copy, which needs a view of the source.
    for (let i = start; i < end; i += 1) bytes[this.#length + i - start] = source[i] ?? 0;
    this.#length += end - start;
    this.byteLength += end - start;
  }

  appendCharCode(code: number): void {
    this.#text = this.toString() + String.fromCharCode(code);
    this.#length = 0;
  }

  reset(): void {
    this.#text = '';
    this.#length = 0;
    this.byteLength = 0;
  }

  toString(): string {
    return this.#text + this.#bytes.toString('utf8', 0, this.#length);
  }

  #reserve(count: number): Buffer {
    if (this.#length + count > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * (this.#length + count));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    return this.#bytes;
  }
}
