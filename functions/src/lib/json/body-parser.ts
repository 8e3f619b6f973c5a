import { parseJson } from './parse';
import { findSyntaxError } from './scanner';

/** Parses a request body whose text arrives in chunks. A chunk may end anywhere, also within a token. */
export interface BodyParser<Body> {
  /** @throws JsonSyntaxError, PayloadTooLargeError */
  write(text: string): void;
  /**
   * Ends the body after its last chunk.
   *
   * @returns the parsed body
   * @throws JsonSyntaxError, ValidationError
   */
  end(): Body;
}

/** A text that is not JSON. */
export class JsonSyntaxError extends Error {
  /**
   * @param byteOffset 0-based offset of the first byte that cannot continue a JSON text
   * @param isAtEnd whether the text ends at that offset
   */
  constructor(
    readonly byteOffset: number,
    readonly isAtEnd: boolean,
  ) {
    super(`not JSON at byte ${byteOffset}`);
  }
}

/** Parses a complete text. @throws what the parser throws */
export function parseText<Body>(parser: BodyParser<Body>, text: string): Body {
  parser.write(text);
  return parser.end();
}

/** Returns a parser for a small body: it collects the text, and parses it at the end. */
export function createJsonParser<Body>(validate: (value: unknown) => Body): BodyParser<Body> {
  const texts: string[] = [];
  return {
    write: (text) => void texts.push(text),
    end: () => validate(parseBody(texts.splice(0).join(''))),
  };
}

function parseBody(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    const index = findSyntaxError(text) ?? text.length;
    throw new JsonSyntaxError(Buffer.byteLength(text.slice(0, index)), index === text.length);
  }
}
