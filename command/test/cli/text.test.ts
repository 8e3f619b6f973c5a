import { cut, fit } from '../../cli/text';

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
