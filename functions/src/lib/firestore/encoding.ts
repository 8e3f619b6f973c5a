/** Messages as protobuf writes them, put together from their fields (https://protobuf.dev/programming-guides/encoding). */

/** A field that holds a text, bytes, or a message that is itself put together from fields. */
export function encodeBytesField(number: number, ...parts: readonly (string | Buffer)[]): Buffer {
  const bytes = parts.map((part) => Buffer.from(part));
  const length = bytes.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([encodeVarint(number * 8 + 2), encodeVarint(length), ...bytes]);
}

/** A field that holds an integer that JavaScript holds exactly, or a member of an enumeration. */
export const encodeIntegerField = (number: number, value: number): Buffer =>
  Buffer.concat([encodeVarint(number * 8), value < 0 ? encodeNegativeVarint(value) : encodeVarint(value)]);

/** How many bytes an integer from nought on takes as a varint. */
export function varintSize(integer: number): number {
  let size = 1;
  for (let rest = integer; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
  return size;
}

/** Writes an integer from 0 to 2⁵³ as a varint. @returns where it ends */
export function writeVarint(into: Buffer, at: number, integer: number): number {
  let end = at;
  let rest = integer;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) into[end++] = (rest % 0x80) + 0x80;
  into[end++] = rest;
  return end;
}

/** A negative integer takes ten bytes: it is written as the 64-bit number that has the same bits. */
function encodeNegativeVarint(integer: number): Buffer {
  const bytes = Buffer.alloc(10);
  let rest = BigInt.asUintN(64, BigInt(integer));
  for (let at = 0; at < bytes.length; at += 1, rest >>= 7n) {
    bytes[at] = Number(rest & 0x7fn) + (at < bytes.length - 1 ? 0x80 : 0);
  }
  return bytes;
}

function encodeVarint(integer: number): Buffer {
  const bytes = Buffer.alloc(varintSize(integer));
  writeVarint(bytes, 0, integer);
  return bytes;
}
