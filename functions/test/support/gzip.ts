import { constants, crc32, deflateRawSync, gzipSync } from 'node:zlib';

const BLOCK_BYTES = 65_536;
const HEADER = gzipSync('').subarray(0, 10);

interface Block {
  plain: Buffer;
  /** Ends on a whole byte and is not the last of its stream, so that any number of them are one. */
  packed: Buffer;
}
const blocks = new Map<string, Block>();

/** The gzip of one character, repeated: as zlib makes it of so many bytes, for which zlib takes up to seconds. */
export function gzipRepeated(character: string, length: number): Buffer {
  const { plain, packed } = getBlock(character);
  const rest = plain.subarray(0, length % BLOCK_BYTES);
  const count = (length - rest.length) / BLOCK_BYTES;
  let checksum = 0;
  for (let i = 0; i < count; i += 1) checksum = crc32(plain, checksum);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(rest, checksum), 0);
  trailer.writeUInt32LE(length, 4);
  return Buffer.concat([HEADER, ...Array.from({ length: count }, () => packed), deflateRawSync(rest), trailer]);
}

function getBlock(character: string): Block {
  const found = blocks.get(character);
  if (found !== undefined) return found;
  const plain = Buffer.alloc(BLOCK_BYTES, character);
  const block = { plain, packed: deflateRawSync(plain, { finishFlush: constants.Z_SYNC_FLUSH }) };
  blocks.set(character, block);
  return block;
}
