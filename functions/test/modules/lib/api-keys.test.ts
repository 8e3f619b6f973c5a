import { parseApiKeys } from '../../../src/lib/api-keys';

test.each<[string, string[], number[]]>([
  ['', [], []],
  [' \r\n\t\n', [], []],
  ['one', ['one'], []],
  [' one \r\n\n\ttwo\n', ['one', 'two'], []],
  ['# Acme GmbH, since May\none\n  #two\n#', ['one'], []],
  ['one#1\none#2', ['one#1', 'one#2'], []],
  ['one\ntwo words\nthree\nfour\tfive\nsix\u00a0seven', ['one', 'three'], [2, 4, 5]],
  ['zwölf-€', ['zwölf-€'], []],
])('the setting %j has the keys %j and the invalid lines %j', (setting, keys, invalidLines) => {
  expect(parseApiKeys(setting)).toEqual({ keys, invalidLines });
});
