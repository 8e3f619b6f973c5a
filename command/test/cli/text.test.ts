import { cut, escapeControls, fit } from '../../cli/text';

const FAMILY = '👩‍👩‍👧‍👦';

test.each([
  ['short', 'ab', 4, 'ab  '],
  ['as long as the cell', 'abcd', 4, 'abcd'],
  ['too long', 'abcde', 4, 'abc…'],
  ['wide', '価格', 5, '価格 '],
  ['wide and too long', '価格表', 4, '価… '],
  ['of emoji and too long', '😀😀😀', 4, '😀… '],
  ['of an emoji of several characters', FAMILY, 3, `${FAMILY} `],
  ['with a combining accent', 'e\u0301ab', 4, 'e\u0301ab '],
])('a text (%s) fills its cell exactly', (_, text, width, cell) => {
  expect(fit(text, width)).toBe(cell);
});

test.each([
  ['abc', 3, 'abc'],
  ['abc', 2, 'ab'],
  ['a価b', 2, 'a'],
  [`a${FAMILY}b`, 3, `a${FAMILY}`],
  ['', 1, ''],
])('%j cut to %d columns is %j', (text, width, shown) => {
  expect(cut(text, width)).toBe(shown);
});

describe('escapeControls', () => {
  // Hangul fillers, the combining grapheme joiner, the Braille blank, spaces, invisible format characters, a variation
  // selector, a tag, an unassigned and a private character, a lone surrogate, and control characters.
  test.each([
    ...['\u3164', '\u115f', '\u034f', '\u2800', '\u00a0', '\u2003', '\u3000', '\u202e', '\u200b', '\ufeff'],
    ...['\ufe0f', '\u{e0001}', '\u0378', '\ue000', '\ud800', '\x1b', '\n', '\x9b'],
  ])('shows %j as an escape of JSON, so that a key with it does not look like a key without it', (character) => {
    const shown = escapeControls(`a${character}b`);
    expect(shown).toMatch(/^a(\\u[0-9a-f]{4})+b$/);
    expect(JSON.parse(`"${shown}"`)).toBe(`a${character}b`);
  });

  test.each(['Zement 42,5 N', 'цемент', '水泥', 'सीमेंट', 'e\u0301', '±10 €', '😀', '"\\'])('keeps %s', (text) => {
    expect(escapeControls(text)).toBe(text);
  });
});
