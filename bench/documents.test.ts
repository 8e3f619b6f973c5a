import { replaceSections } from './documents';

test('replaces a section and leaves the rest of the page', () => {
  const page = 'before\n<!-- summary -->\nold\n<!-- /summary -->\nafter\n';
  const expected = 'before\n<!-- summary -->\n\nnew\n\n<!-- /summary -->\nafter\n';
  expect(replaceSections(page, { summary: 'new' })).toBe(expected);
});

test('throws when the page has no such section', () => {
  expect(() => replaceSections('before', { summary: 'new' })).toThrow('has no section <!-- summary -->');
});
