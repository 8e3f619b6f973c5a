import type { Random } from '../../../local/sample/random';

/**
 * Request bodies made to cost as much memory as possible. Each follows from a small recipe, so that a search can change a
 * part of it and a report can print it.
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

const shapes = ['unknownField', 'invalidProducts', 'validProducts', 'manyProductsObjects', 'array'] as const;
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
  const parts: [keyof BodyRecipe, ...(keyof BodyRecipe)[]] = [
    'shape',
    'filler',
    'id',
    'fillerBytes',
    'idLength',
    'bodyBytes',
  ];
  const changed = [random.pick(parts), random.pick(parts)];
  return { ...recipe, ...Object.fromEntries(changed.map((part) => [part, other[part]])) };
}

/** Returns the JSON of a recipe. */
export function writeBody(recipe: BodyRecipe): Buffer {
  const body = new BodyText(recipe.bodyBytes);
  const filler = createFiller(recipe);
  const info = '{"market_id":"none","boq_list_id":"list","currency_iso":"usd","date":"06/2026","name":"n"}';
  const prices = '"price_list_price":1.5,"expected_forward_cost_price":2.5';
  switch (recipe.shape) {
    case 'array':
      body.fill('[', (n) => filler(n), ']');
      break;
    case 'unknownField':
      body.fill(`{"info":${info},"products":{"a":{${prices}}},"unknown":[`, (n) => filler(n), ']}');
      break;
    case 'invalidProducts':
      body.fill(`{"info":${info},"products":{`, (n) => `"${toId(recipe, n)}":${filler(n)}`, '}}');
      break;
    case 'validProducts':
      body.fill(`{"info":${info},"products":{`, (n) => `"${toId(recipe, n)}":{${prices},"unknown":${filler(n)}}`, '}}');
      break;
    case 'manyProductsObjects':
      body.fill(`{"info":${info},`, (n) => `"products":{"${toId(recipe, n)}":{${prices},"unknown":${filler(n)}}}`, '}');
      break;
  }
  return body.take();
}

const MIN_WRITE_LENGTH = 65_536;

/** A text that is filled up to its size. */
class BodyText {
  readonly #bytes: Buffer;
  #length = 0;

  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafe(bytes);
  }

  /** Writes items, separated by commas, between the start and the end. Items of which the first two are alike all are. */
  fill(start: string, item: (n: number) => string, end: string): void {
    this.#write(start);
    if (item(0) === item(1)) this.#repeat(item(0), this.#left - end.length);
    else this.#join(item, this.#left - end.length);
    this.#write(end);
  }

  #repeat(text: string, limit: number): void {
    const separated = `,${text}`;
    const bytes = Buffer.byteLength(separated);
    const count = Math.floor((limit + 1) / bytes);
    if (count === 0) return;
    this.#write(text);
    const end = this.#length + (count - 1) * bytes;
    this.#bytes.fill(separated, this.#length, end);
    this.#length = end;
  }

  /** A write takes long, so that it is given many items at once. */
  #join(item: (n: number) => string, limit: number): void {
    let joined = '';
    for (let n = 0, left = limit; ; n += 1) {
      const text = (n === 0 ? '' : ',') + item(n);
      left -= Buffer.byteLength(text);
      if (left < 0) break;
      joined += text;
      if (joined.length < MIN_WRITE_LENGTH) continue;
      this.#write(joined);
      joined = '';
    }
    this.#write(joined);
  }

  get #left(): number {
    return this.#bytes.length - this.#length;
  }

  take(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #write(text: string): void {
    this.#length += this.#bytes.write(text, this.#length);
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

/** Fillers that differ from each other, of those that are not all alike. */
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
