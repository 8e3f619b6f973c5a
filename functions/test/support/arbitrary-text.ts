import fc from 'fast-check';

/** Generates any character except lone surrogates. fast-check's unit `binary` would spend more than a second of each process to list them. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .oneof(
    fc.integer({ max: 0x7f, min: 0 }),
    fc.integer({ max: 0xd7ff, min: 0 }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((codePoint) => String.fromCodePoint(codePoint));

/** Generates a text of at most `maxLength` parts, and its JSON without quotes. Some parts have every character escaped. */
export const arbitraryWrittenText = (part: fc.Arbitrary<string>, maxLength: number) =>
  fc.array(fc.tuple(part, fc.boolean()), { maxLength }).map((parts) => ({
    text: parts.map(([each]) => each).join(''),
    json: parts.map(([each, isEscaped]) => (isEscaped ? escapeAll(each) : JSON.stringify(each).slice(1, -1))).join(''),
  }));

const escapeAll = (text: string) =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');
