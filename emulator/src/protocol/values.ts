/**
 * The values that the server supports, as JavaScript values. An integer is a bigint, and a double is a number.
 * https://firebase.google.com/docs/firestore/manage-data/data-types
 */
export type Value = null | boolean | bigint | number | string | Uint8Array | Timestamp | Reference | Value[] | MapValue;

/** A map value, or the fields of a document. It is a Map, because a field can have a name such as `constructor`. */
export type MapValue = Map<string, Value>;

/** A point in time; Firestore keeps microseconds. */
export class Timestamp {
  constructor(
    readonly seconds: number,
    readonly nanos: number,
  ) {}

  /** Creates a time from microseconds since 1970, which a double holds exactly until the year 2255. */
  static fromMicros(micros: number): Timestamp {
    const seconds = Math.floor(micros / 1e6);
    return new Timestamp(seconds, (micros - seconds * 1e6) * 1000);
  }

  /** Returns the time as Firestore keeps it, truncated to microseconds. */
  toMicroseconds(): Timestamp {
    return this.nanos % 1000 === 0 ? this : new Timestamp(this.seconds, this.nanos - (this.nanos % 1000));
  }

  /** Microseconds since 1970, rounded down. */
  get micros(): number {
    return this.seconds * 1e6 + Math.floor(this.nanos / 1000);
  }
}

/** A reference to a document, by its full resource name. */
export class Reference {
  constructor(readonly name: string) {}
}

/** Converts a plain object to the fields of a document. A safe integer becomes an integer, and any other number a double. */
export const toFields = (data: Readonly<Record<string, unknown>>): MapValue =>
  new Map(Object.entries(data).map(([key, value]) => [key, toValue(value)]));

/** @throws TypeError for undefined, a bigint, a symbol or a function */
function toValue(value: unknown): Value {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(toValue);
  if (typeof value === 'object') return toFields(value as Record<string, unknown>);
  throw new TypeError(`A plain value cannot have the type ${typeof value}.`);
}

const isNumber = (value: Value | undefined): value is bigint | number =>
  typeof value === 'number' || typeof value === 'bigint';

/** Returns whether a value can satisfy an operator. Null and NaN cannot: SDKs send `== null` as another kind of filter. */
export const isComparable = (value: Value): boolean => value !== null && !Number.isNaN(value);

/** Returns the position of a value's type in the order of types. Integers and doubles share one. */
export function getTypeOrder(value: Value): number {
  if (value === null) return 0;
  if (typeof value === 'boolean') return 1;
  if (isNumber(value)) return 2;
  if (value instanceof Timestamp) return 3;
  if (typeof value === 'string') return 4;
  if (value instanceof Uint8Array) return 5;
  if (value instanceof Reference) return 6;
  return Array.isArray(value) ? 8 : 9;
}

/**
 * Compares two strings by their UTF-8 bytes, without encoding them. UTF-16 units have the same order, except that surrogates
 * must sort after U+E000 to U+FFFF.
 */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return toUtf8Order(left) - toUtf8Order(right);
  }
  return a.length - b.length;
}

const toUtf8Order = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/** Compares resource names id by id. */
export function compareNames(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const restOfId = (name: string): string => name.slice(at).split('/', 1)[0] ?? '';
  return compareStrings(restOfId(a), restOfId(b)) || a.length - b.length;
}

/** Compares numbers. JavaScript compares a bigint with a number exactly. NaN is the least number. */
function compareNumbers(a: bigint | number, b: bigint | number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  return Number(Number.isNaN(b)) - Number(Number.isNaN(a));
}

function compareArrays(a: readonly Value[], b: readonly Value[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compareValues(a[i] as Value, b[i] as Value);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Compares maps by their entries in the order of their keys, then by the number of entries. */
function compareMaps(a: MapValue, b: MapValue): number {
  const right = [...b].sort(compareByKey);
  for (const [i, [key, value]] of [...a].sort(compareByKey).entries()) {
    const other = right[i];
    if (!other) return 1;
    const order = compareStrings(key, other[0]) || compareValues(value, other[1]);
    if (order !== 0) return order;
  }
  return a.size - b.size;
}

export const compareByKey = (a: readonly [string, unknown], b: readonly [string, unknown]): number =>
  compareStrings(a[0], b[0]);

/** Compares values in Firestore's order. 1 equals 1.0, and NaN equals NaN. */
export function compareValues(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b);
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Timestamp && b instanceof Timestamp) return a.seconds - b.seconds || a.nanos - b.nanos;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (a instanceof Reference && b instanceof Reference) return compareNames(a.name, b.name);
  if (Array.isArray(a) && Array.isArray(b)) return compareArrays(a, b);
  if (a instanceof Map && b instanceof Map) return compareMaps(a, b);
  return getTypeOrder(a) - getTypeOrder(b);
}

/** Returns the value at a path, if there is one. */
export function getPath(map: MapValue, path: readonly string[]): Value | undefined {
  let value: Value | undefined = map;
  for (const step of path) value = value instanceof Map ? value.get(step) : undefined;
  return value;
}

/** Sets the value at a path, and creates the maps that the path lacks. Undefined removes the value. */
export function setPath(map: MapValue, path: readonly string[], value: Value | undefined): void {
  const last = path.at(-1);
  if (last === undefined) return;
  let parent = map;
  for (const step of path.slice(0, -1)) {
    let next = parent.get(step);
    if (!(next instanceof Map)) {
      if (value === undefined) return;
      next = new Map();
      parent.set(step, next);
    }
    parent = next;
  }
  if (value === undefined) parent.delete(last);
  else parent.set(last, value);
}

const getStringSize = (text: string): number => Buffer.byteLength(text) + 1;

/** Returns the stored size of a document's name in bytes: each id below `…/documents` as a string, plus 16. */
export function getNameSize(name: string): number {
  return (
    16 +
    name
      .split('/')
      .slice(5)
      .reduce((sum, id) => sum + getStringSize(id), 0)
  );
}

/** Returns the stored size of a map's entries in bytes. https://firebase.google.com/docs/firestore/storage-size */
export function getFieldsSize(map: MapValue): number {
  let size = 0;
  for (const [key, value] of map) size += getStringSize(key) + getValueSize(value);
  return size;
}

/** Returns the stored size of a value in bytes. */
export function getValueSize(value: Value): number {
  if (value === null || typeof value === 'boolean') return 1;
  if (isNumber(value) || value instanceof Timestamp) return 8;
  if (typeof value === 'string') return getStringSize(value);
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Reference) return getNameSize(value.name);
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + getValueSize(item), 0);
  return 32 + getFieldsSize(value);
}
