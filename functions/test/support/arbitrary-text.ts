import fc from 'fast-check';

/** Generates any character except lone surrogates. fast-check's unit `binary` would spend more than a second of each process to list them. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .oneof(
    fc.integer({ max: 0x7f, min: 0 }),
    fc.integer({ max: 0xd7ff, min: 0 }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((codePoint) => String.fromCodePoint(codePoint));
