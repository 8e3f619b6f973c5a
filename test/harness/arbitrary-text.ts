import fc from 'fast-check';

/** Generates any character except lone surrogates. In each process, fast-check's unit `binary` would take more than a second to list the characters. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .oneof(
    fc.integer({ max: 0x7f, min: 0 }),
    fc.integer({ max: 0xd7ff, min: 0 }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((codePoint) => String.fromCodePoint(codePoint));
