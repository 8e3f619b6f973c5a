/**
 * Firestore's values as plain JavaScript: a bigint is an integer, a number is a double.
 * https://firebase.google.com/docs/firestore/manage-data/data-types
 */
export type Value =
  null | boolean | bigint | number | string | Uint8Array | Timestamp | Reference | GeoPoint | Value[] | MapValue;

/** A map value, and the fields of a document. A Map, so that a field may be called `__proto__`. */
export type MapValue = Map<string, Value>;

/** A point in time; Firestore keeps microseconds. */
export class Timestamp {
  constructor(
    readonly seconds: number,
    readonly nanos: number,
  ) {}

  /** From microseconds since 1970, which a double holds exactly until the year 2255. */
  static ofMicros(micros: number): Timestamp {
    const seconds = Math.floor(micros / 1e6);
    return new Timestamp(seconds, (micros - seconds * 1e6) * 1000);
  }

  /** Microseconds since 1970. */
  get micros(): number {
    return this.seconds * 1e6 + Math.floor(this.nanos / 1000);
  }
}

/** A reference to a document, by its full resource name. */
export class Reference {
  constructor(readonly name: string) {}
}

/** A point on the globe, in degrees. */
export class GeoPoint {
  constructor(
    readonly latitude: number,
    readonly longitude: number,
  ) {}
}

/** Whether a value is an integer or a double. */
export const isNumber = (value: Value | undefined): value is bigint | number =>
  typeof value === 'number' || typeof value === 'bigint';

/** The place of a value's type in the order over all types; integers and doubles share one. */
export function typeOrder(value: Value): number {
  if (value === null) return 0;
  if (typeof value === 'boolean') return 1;
  if (isNumber(value)) return 2;
  if (value instanceof Timestamp) return 3;
  if (typeof value === 'string') return 4;
  if (value instanceof Uint8Array) return 5;
  if (value instanceof Reference) return 6;
  if (value instanceof GeoPoint) return 7;
  return Array.isArray(value) ? 8 : 9;
}

/**
 * UTF-8 byte order of two strings, without encoding them: code units agree with it except where a surrogate pair meets
 * a character from U+E000 up.
 */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left === right) continue;
    return rank(left) - rank(right);
  }
  return a.length - b.length;
}

const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

/** As {@link compareStrings}, for resource names: a slash sorts before everything, so that they compare id by id. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left === right) continue;
    return (left === SLASH ? -1 : rank(left)) - (right === SLASH ? -1 : rank(right));
  }
  return a.length - b.length;
}

const SLASH = 0x2f;
const NUMERIC_ID = /^__id(-?\d+)__$/;

/**
 * As {@link compareNames}, for names in values: ids of the form `__id7__` are numbers and sort before all others. No
 * document here can have one, but the SDK's recursiveDelete asks for all documents after the least of them.
 */
function compareReferences(a: string, b: string): number {
  if (!a.includes('/__id') && !b.includes('/__id')) return compareNames(a, b);
  const right = b.split('/');
  for (const [i, id] of a.split('/').entries()) {
    const other = right[i];
    if (other === undefined) return 1;
    const [left, number] = [NUMERIC_ID.exec(id)?.[1], NUMERIC_ID.exec(other)?.[1]];
    if (left !== undefined && number !== undefined && left !== number) return BigInt(left) < BigInt(number) ? -1 : 1;
    const order = Number(left === undefined) - Number(number === undefined) || compareStrings(id, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** JavaScript compares a bigint with a number exactly; only NaN, the least number here, needs a hand. */
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

/** Maps compare by their entries in the order of their keys: key, then value, then the number of entries. */
function compareMaps(a: MapValue, b: MapValue): number {
  const right = [...b].sort(byKey);
  for (const [i, [key, value]] of [...a].sort(byKey).entries()) {
    const other = right[i];
    if (!other) return 1;
    const order = compareStrings(key, other[0]) || compareValues(value, other[1]);
    if (order !== 0) return order;
  }
  return a.size - b.size;
}

/** Orders the entries of a map by key. */
export const byKey = (a: readonly [string, unknown], b: readonly [string, unknown]): number =>
  compareStrings(a[0], b[0]);

/** Firestore's order over values of all types; 0 is the equality of `==`, where 1 equals 1.0 and NaN equals NaN. */
export function compareValues(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b);
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Timestamp && b instanceof Timestamp) return a.seconds - b.seconds || a.nanos - b.nanos;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (a instanceof Reference && b instanceof Reference) return compareReferences(a.name, b.name);
  if (a instanceof GeoPoint && b instanceof GeoPoint) return a.latitude - b.latitude || a.longitude - b.longitude;
  if (Array.isArray(a) && Array.isArray(b)) return compareArrays(a, b);
  if (a instanceof Map && b instanceof Map) return compareMaps(a, b);
  return typeOrder(a) - typeOrder(b);
}

/** Equality as queries and array transforms see it. */
export const equalValues = (a: Value, b: Value): boolean => compareValues(a, b) === 0;

/** A string that two scalar values share exactly when they are equal; undefined for values that are not scalar. */
export function equalityKey(value: Value): string | undefined {
  if (typeof value === 'string') return `s${value}`;
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value === 'bigint') return `n${value.toString()}`;
  if (typeof value === 'number') return Number.isInteger(value) ? `n${BigInt(value).toString()}` : `n${value}`;
  return value instanceof Reference ? `r${value.name}` : undefined;
}

/** A copy that shares no map and no array with its original. */
export function cloneMap(map: MapValue): MapValue {
  const clone = (value: Value): Value =>
    value instanceof Map ? cloneMap(value) : Array.isArray(value) ? value.map(clone) : value;
  return new Map(Array.from(map, ([key, value]) => [key, clone(value)]));
}

/** The value at a path of steps, or undefined where there is none. */
export function getPath(map: MapValue, path: readonly string[]): Value | undefined {
  let value: Value | undefined = map;
  for (const step of path) value = value instanceof Map ? value.get(step) : undefined;
  return value;
}

/** Sets the value at a path in place, making the maps on the way, or removes it when the value is undefined. */
export function setPath(map: MapValue, path: readonly string[], value: Value | undefined): void {
  const last = path.at(-1);
  if (last === undefined) return;
  let at = map;
  for (const step of path.slice(0, -1)) {
    let next = at.get(step);
    if (!(next instanceof Map)) {
      if (value === undefined) return;
      next = new Map();
      at.set(step, next);
    }
    at = next;
  }
  if (value === undefined) at.delete(last);
  else at.set(last, value);
}

const stringSize = (text: string): number => Buffer.byteLength(text) + 1;

/** The stored size of a document's name: each id below `…/documents` as a string, and 16 bytes. */
export function nameSize(name: string): number {
  return (
    16 +
    name
      .split('/')
      .slice(5)
      .reduce((sum, id) => sum + stringSize(id), 0)
  );
}

/** The stored size of a map's entries. https://firebase.google.com/docs/firestore/storage-size */
export function fieldsSize(map: MapValue): number {
  let size = 0;
  for (const [key, value] of map) size += stringSize(key) + valueSize(value);
  return size;
}

function valueSize(value: Value): number {
  if (value === null || typeof value === 'boolean') return 1;
  if (isNumber(value) || value instanceof Timestamp) return 8;
  if (typeof value === 'string') return stringSize(value);
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Reference) return nameSize(value.name);
  if (value instanceof GeoPoint) return 16;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + valueSize(item), 0);
  return 32 + fieldsSize(value);
}
