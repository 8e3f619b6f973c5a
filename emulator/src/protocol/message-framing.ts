import { RpcError, invalid } from './errors';

/*
 * gRPC puts a head before each message: one byte that says whether the message is compressed, and four bytes with its length.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */

const HEAD_BYTES = 5;

/** The maximum size of a request, and so of a commit: https://firebase.google.com/docs/firestore/quotas. */
const MAX_REQUEST_BYTES = 10 * 1024 * 1024;

/** Prepends the head to a message, which is not compressed. */
export function frameMessage(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  framed.writeUInt8(0, 0);
  framed.writeUInt32BE(message.length, 1);
  message.copy(framed, HEAD_BYTES);
  return framed;
}

/** Reads the one message of a call. Refuses a message that is too long. */
export class MessageReader {
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private end = Infinity;

  /**
   * Takes the next bytes, and returns the message when it is complete.
   * @throws RpcError INVALID_ARGUMENT as soon as the head announces too many bytes, and UNIMPLEMENTED if the message is compressed
   */
  read(chunk: Buffer): Buffer | undefined {
    this.chunks.push(chunk);
    this.size += chunk.length;
    if (this.end === Infinity) this.end = findEnd(Buffer.concat(this.chunks));
    return this.size < this.end ? undefined : Buffer.concat(this.chunks).subarray(HEAD_BYTES, this.end);
  }
}

/** Returns the offset at which the first message ends, or Infinity until its head is complete. */
function findEnd(bytes: Buffer): number {
  if (bytes.length < HEAD_BYTES) return Infinity;
  if (bytes.readUInt8(0) !== 0) throw new RpcError('UNIMPLEMENTED', 'Compressed messages are not supported.');
  const length = bytes.readUInt32BE(1);
  if (length > MAX_REQUEST_BYTES) throw invalid(`Request payload size exceeds the limit: ${MAX_REQUEST_BYTES} bytes.`);
  return HEAD_BYTES + length;
}
