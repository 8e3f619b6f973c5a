import { parseJson } from './parse';
import { findSyntaxError } from './scanner';

/** Parses a request body whose text arrives in chunks, cut anywhere. */
export interface BodyParser<Body> {
  /** @throws JsonSyntaxError, PayloadTooLargeError */
  write(text: string): void;
  /**
   * @returns the body, after its last chunk
   * @throws JsonSyntaxError, ValidationError
   */
  end(): Body;
}

/** A text that is not JSON. */
export class JsonSyntaxError extends Error {
  /**
   * @param byteOffset where the text stops being JSON, counted from 0
   * @param isAtEnd whether the text ends there
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

/** Collects a small body and parses it at its end. */
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
