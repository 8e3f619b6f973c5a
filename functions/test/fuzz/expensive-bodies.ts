import type { Random } from '../../../local/sample/random';

/**
 * A recipe for a request body that should take as much memory as possible. A search can change one
 * part of it, and a report can print it.
 */
export interface BodyRecipe {
  shape: Shape;
  filler: Filler;
  id: IdKind;
  /** Bytes of one filler. */
  fillerBytes: number;
  /** Characters of one product identifier. */
  idLength: number;
  bodyBytes: number;
}

const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** A little below the limit of 64 KiB for one value in `products`, which also holds the prices. */
const MAX_FILLER_BYTES = 60 * 1024;

const shapes = ['invalidProducts', 'validProducts', 'manyProductsObjects'] as const;
type Shape = (typeof shapes)[number];

const ids = ['ascii', 'latin', 'wide', 'oneWideCharacter', 'escaped', 'duplicate', 'reserved', 'slash'] as const;
type IdKind = (typeof ids)[number];

const repeated = ['{}', '[]', '[0]', '1.5', '""', '"é"', '{"a":0}', '{"a":{"b":{}}}', '{"__proto__":{}}'] as const;
const distinct = ['objects', 'names', 'sparseIndexes', 'strings'] as const;
const single = [
  'deepArrays',
  'deepObjects',
  'digits',
  'escapes',
  'whiteSpace',
  'longString',
  'longWideString',
] as const;
type Filler = (typeof repeated | typeof distinct | typeof single)[number];
const fillers = [...repeated, ...distinct, ...single] as const;

/** A size between the bounds; each order of magnitude is equally likely. */
const size = (min: number, max: number, random: Random): number => Math.round(min * (max / min) ** random.next());

export const randomRecipe = (random: Random): BodyRecipe => ({
  shape: random.pick(shapes),
  filler: random.pick(fillers),
  id: random.pick(ids),
  fillerBytes: size(2, MAX_FILLER_BYTES, random),
  idLength: size(1, 2_000, random),
  bodyBytes: random.next() < 0.8 ? MAX_BODY_BYTES : size(1_000_000, MAX_BODY_BYTES, random),
});

/** Returns a recipe that differs in one or two parts. */
export function mutateRecipe(recipe: BodyRecipe, random: Random): BodyRecipe {
  const other = randomRecipe(random);
  const parts = ['shape', 'filler', 'id', 'fillerBytes', 'idLength', 'bodyBytes'] as const;
  const changed = [random.pick(parts), random.pick(parts)];
  return { ...recipe, ...Object.fromEntries(changed.map((part) => [part, other[part]])) };
}

/** Returns the JSON of a recipe. */
export function writeBody(recipe: BodyRecipe): Buffer {
  const filler = createFiller(recipe);
  const fields = '"boq_list_id":"list","currency_iso":"usd","date":"06/2026","name":"n"';
  const info = `"info":{"market_id":"none",${fields}}`;
  const prices = '"price_list_price":1.5,"expected_forward_cost_price":2.5';
  const product = (n: number) => `"${toId(recipe, n)}":{${prices},"unknown":${filler(n)}}`;
  const invalidProduct = (n: number) => `"${toId(recipe, n)}":${filler(n)}`;
  const [start, item, end] = {
    invalidProducts: [`{${info},"products":{`, invalidProduct, '}}'] as const,
    validProducts: [`{${info},"products":{`, product, '}}'] as const,
    manyProductsObjects: [`{${info},`, (n: number) => `"products":{${product(n)}}`, '}'] as const,
  }[recipe.shape];
  const items = joinItems(item, recipe.bodyBytes - start.length - end.length);
  return Buffer.concat([Buffer.from(start), items, Buffer.from(end)]);
}

/** Joins as many items as fit into `bytes`, with commas. If the first two are equal, all are. */
function joinItems(item: (n: number) => string, bytes: number): Buffer {
  if (item(0) === item(1)) {
    const separated = Buffer.from(`,${item(0)}`);
    const count = Math.floor((bytes + 1) / separated.length);
    return Buffer.alloc(count * separated.length, separated).subarray(1);
  }
  const items: string[] = [];
  for (let left = bytes + 1; ;) {
    const text = item(items.length);
    left -= Buffer.byteLength(text) + 1;
    if (left < 0) return Buffer.from(items.join());
    items.push(text);
  }
}

function toId({ id, idLength }: BodyRecipe, n: number): string {
  const number = n.toString(36);
  const padded = (character: string) => number + character.repeat(Math.max(0, idLength - number.length));
  switch (id) {
    case 'ascii':
      return padded('a');
    case 'latin':
      return padded('é');
    case 'wide':
      return padded('字');
    case 'oneWideCharacter':
      return `${padded('a')}字`;
    case 'escaped':
      return padded('\\u0061');
    case 'duplicate':
      return 'a'.repeat(idLength);
    case 'reserved':
      return `__${padded('a')}__`;
    case 'slash':
      return `${padded('a')}/`;
  }
}

/** Number of different texts of a distinct filler. */
const VARIANTS = 256;

function createFiller({ filler, fillerBytes }: BodyRecipe): (n: number) => string {
  const written = new Map<number, string>();
  const isDistinct = (distinct as readonly Filler[]).includes(filler);
  return (n) => {
    const variant = isDistinct ? n % VARIANTS : 0;
    const text = written.get(variant) ?? writeFiller(filler, fillerBytes, variant);
    written.set(variant, text);
    return text;
  };
}

function writeFiller(filler: Filler, bytes: number, variant: number): string {
  const count = (each: number) => Math.max(1, Math.floor(bytes / each));
  const list = (each: number, write: (i: number) => string) =>
    Array.from({ length: count(each) }, (_, i) => write(i)).join();
  switch (filler) {
    case 'objects':
      return `[${list(14, (i) => `{"${variant}k${i}":0}`)}]`;
    case 'names':
      return `{${list(12, (i) => `"${variant}k${i}":0`)}}`;
    case 'sparseIndexes':
      return `{${list(14, (i) => `"${(i * 1_000_003 + variant) % 4_294_967_295}":0`)}}`;
    case 'strings':
      return `[${list(10, (i) => `"${variant}s${i}"`)}]`;
    case 'deepArrays':
      return '['.repeat(count(2)) + ']'.repeat(count(2));
    case 'deepObjects':
      return `${'{"a":'.repeat(count(6))}0${'}'.repeat(count(6))}`;
    case 'digits':
      return '1'.repeat(bytes);
    case 'escapes':
      return `"${'\\u0061'.repeat(count(6))}"`;
    case 'whiteSpace':
      return `${' '.repeat(bytes)}0`;
    case 'longString':
      return `"${'a'.repeat(bytes)}"`;
    case 'longWideString':
      return `"${'字'.repeat(count(3))}"`;
    default:
      return bytes < 2 * filler.length ? filler : `[${list(filler.length + 1, () => filler)}]`;
  }
}
