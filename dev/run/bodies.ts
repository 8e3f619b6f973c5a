import type { Random } from '../random';

/**
 * Draws bodies of add price lists from a grammar: names by alphabet, length, number and place, repeated names, values,
 * escapes, nesting and blanks. A body repeats one kind of item, up to a size or a number, so that each draw shows the cost of
 * that kind. For one maximum size, equal seeds draw equal bodies.
 */

export interface DrawnBody {
  text: Buffer;
  /** Says in a few words what was drawn, for a message. */
  what: string;
}

type Choice<T> = Readonly<Record<string, T>>;

/** Returns a text for the n-th item. */
type Write = (n: number) => string;

const repeat = (unit: string, length: number): string => unit.repeat(Math.ceil(length));

/** Names by alphabet, as JSON text without the quotation marks around it. */
const ALPHABETS: Choice<(length: number, n: number) => string> = {
  letters: (length, n) => n.toString(36).padEnd(length, 'x'),
  digits: (length, n) => String(n).padStart(length, '1'),
  indices: (_, n) => String(n % 100),
  tildes: (length, n) => n.toString(36) + repeat('~', length),
  'line breaks': (length, n) => n.toString(36) + repeat('\\n', length / 2),
  quotes: (length, n) => n.toString(36) + repeat('\\"', length / 2),
  'code points': (length, n) => n.toString(36) + repeat('\\u0041', length / 6),
  surrogates: (length, n) => n.toString(36) + repeat('\\ud800', length / 6),
  'characters of two bytes': (length, n) => n.toString(36) + repeat('é', length / 2),
  'Cyrillic characters': (length, n) => n.toString(36) + repeat('ж', length / 2),
  'one Cyrillic character': (length, n) => `ж${n.toString(36).padEnd(length, '~')}`,
  'characters of four bytes': (length, n) => n.toString(36) + repeat('𝄞', length / 4),
  'names of the service': (_, n) => ['info', 'products', 'price_list_price', 'n\\u0061me', 'info\\u0000'][n % 5] ?? '',
  'names of prototypes': (_, n) => ['__proto__', 'constructor', 'toString', 'hasOwnProperty', ''][n % 5] ?? '',
};

const LENGTHS = [0, 1, 2, 8, 16, 100, 101, 1_480, 1_499, 1_500, 1_501, Infinity];

const NUMBERS = ['0', '1', '-0', '0.5', '1.5', '1e20', '1E+20', '12345.678', '1e-7', '1e400', '-1', '1e308', '0.1e1'];

const SCALARS: Choice<Write> = {
  numbers: (n) => NUMBERS[n % NUMBERS.length] ?? '',
  'long numbers': (n) => `${n}${'7'.repeat(300)}`,
  texts: (n) => `"text ${n}"`,
  words: (n) => ['true', 'false', 'null'][n % 3] ?? '',
  empty: (n) => ['{}', '[]', '""'][n % 3] ?? '',
};

const PRICES: Choice<string> = {
  short: '"price_list_price":1,"expected_forward_cost_price":1',
  fractions: '"price_list_price":1.5,"expected_forward_cost_price":0.25',
  'that grow': '"price_list_price":1e20,"expected_forward_cost_price":1e20',
  'that shrink': '"price_list_price":1.000000000000,"expected_forward_cost_price":1.00000000000000000000',
  'one missing': '"price_list_price":1',
  negative: '"price_list_price":-1,"expected_forward_cost_price":-0',
  repeated: '"price_list_price":[],"price_list_price":{"a":1},"price_list_price":2,"expected_forward_cost_price":3',
  'with others': '"u":{"v":[1,{}]},"price_list_price":1,"w":null,"expected_forward_cost_price":1',
};

const NESTED: Choice<(depth: number) => string> = {
  arrays: (depth) => '['.repeat(depth) + ']'.repeat(depth),
  objects: (depth) => '{"a":'.repeat(depth) + '0' + '}'.repeat(depth),
  indices: (depth) => '{"34":'.repeat(depth) + '0' + '}'.repeat(depth),
};

const DEPTHS = [1, 2, 10, 500, 996, 1_001, 100_000];

const BLANKS = ['', '', '', ' ', '\n', ' \t\r\n'];

const INFO =
  '"info":{"market_id":"none","boq_list_id":"boq","currency_iso":"egp","date":"06/2026","name":"n","unknown":0}';

const pickNamed = <T>(random: Random, choice: Choice<T>): [what: string, value: T] =>
  random.pick(Object.entries(choice));

/** Draws how the names of a body are written. The fewer different names there are, the more often each is repeated. */
function drawName(random: Random, maxBytes: number): [what: string, write: Write] {
  const [what, write] = pickNamed(random, ALPHABETS);
  const length = Math.min(random.pick(LENGTHS), maxBytes - 400);
  const names = random.pick([1, 3, Infinity, Infinity, Infinity]);
  return [
    `names of ${what}, drawn length ${length}, at most ${names} different`,
    (n) => write(Math.max(length, 0), n % names),
  ];
}

/** Draws the items of a body: the text before them, one text for each item, and the text after them. */
function drawItems(random: Random, maxBytes: number): { what: string; start: string; write: Write; end: string } {
  const [whatName, writeName] = drawName(random, maxBytes);
  const [whatScalar, writeScalar] = pickNamed(random, SCALARS);
  const [whatPrices, prices] = pickNamed(random, PRICES);
  const [whatNested, nest] = pickNamed(random, NESTED);
  const depth = Math.min(random.pick(DEPTHS), Math.floor(maxBytes / 8));
  const info = random.pick([INFO, INFO, INFO, '"info":[]', '"info":{}']);
  const products = `"products":{"first":{${PRICES['short'] ?? ''}}}`;
  const inProducts = { start: `{${info},"products":{`, end: '}}' };
  const inInfo = { start: `{${products},"info":{`, end: `${INFO.slice('"info":{'.length)}}` };
  const inUnknown = { start: `{${info},${products},"unknown":{`, end: '}}' };
  const inRoot = { start: `{${info},`, end: `${products}}` };
  return random.pick([
    ...Array.from({ length: 6 }, () => ({
      ...inProducts,
      what: `products with prices ${whatPrices}, ${whatName}`,
      write: (n: number) => `"${writeName(n)}":{${prices}}`,
    })),
    {
      ...inProducts,
      what: `products that are ${whatScalar}, ${whatName}`,
      write: (n) => `"${writeName(n)}":${writeScalar(n)}`,
    },
    {
      ...inProducts,
      what: `products with ${whatNested} ${depth} deep`,
      write: (n) => `"${n}":{"u":${nest(depth)},${prices}}`,
    },
    {
      ...inProducts,
      what: `products with one more member each, ${whatName}`,
      write: (n) => `"${n}":{"${writeName(n)}":${writeScalar(n)},${prices}}`,
    },
    ...[inInfo, inUnknown, inRoot].flatMap((place) => [
      {
        ...place,
        what: `unknown members, ${whatName}, ${whatScalar}`,
        write: (n: number) => `"${writeName(n)}":${writeScalar(n)}`,
      },
      {
        ...place,
        what: `unknown ${whatNested} ${depth} deep`,
        write: (n: number) => `"${writeName(n)}":${nest(depth)}`,
      },
    ]),
    { start: '[', end: '0]', what: `an array of ${whatScalar}`, write: (n) => writeScalar(n) },
    {
      start: `{${info},"products":{"a":0},`,
      end: '"products":{"b":{"price_list_price":1,"expected_forward_cost_price":1}}}',
      what: 'products again and again',
      write: (n) => `"products":{"${writeName(n)}":{${prices}}}`,
    },
  ]);
}

/** @param maxBytes the approximate maximum size of the body */
export function drawBody(random: Random, maxBytes: number): DrawnBody {
  const { what, start, write, end } = drawItems(random, maxBytes);
  const blank = random.pick(BLANKS);
  const separator = `${blank},${blank}`;
  const maxItems = random.pick([1, 2, 100, Infinity, Infinity, Infinity]);
  const items: string[] = [];
  for (let bytes = start.length + end.length; items.length < maxItems;) {
    const item = write(items.length);
    bytes += Buffer.byteLength(item) + separator.length;
    if (bytes > maxBytes && items.length > 0) break;
    items.push(item);
  }
  // A separator follows the items, unless the object ends there.
  const last = /^[\]}]/.test(end) ? '' : separator;
  const text = blank + start + items.join(separator) + last + end + blank;
  const broken = random.chance(0.1);
  const mark = random.chance(0.1) ? '\ufeff' : '';
  return {
    text: Buffer.from(mark + (broken ? text.trimEnd().slice(0, -1) + random.pick(['', '"', ']', ',', 'x']) : text)),
    what: what + (broken ? ', broken at the end' : ''),
  };
}
