import { RpcError, invalid } from './errors';

/*
 * How gRPC puts messages into a stream of bytes: one byte that says whether the message is compressed, four with its length, the
 * message. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */

const HEAD_BYTES = 5;

/** https://firebase.google.com/docs/firestore/quotas: the maximum size of a request, and so of a commit. */
const MAX_REQUEST_BYTES = 10 * 1024 * 1024;

/** Puts a message into the form in which it is sent. */
export function frameMessage(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  framed.writeUInt8(0, 0);
  framed.writeUInt32BE(message.length, 1);
  message.copy(framed, HEAD_BYTES);
  return framed;
}

/** Finds the messages in the bytes of a request. Holds at most one message, and refuses one that is too long. */
export class MessageReader {
  private chunks: Buffer[] = [];
  private size = 0;

  /** Whether a message has begun and is not complete. */
  get isWithinMessage(): boolean {
    return this.size > 0;
  }

  /**
   * Takes the next bytes and returns the messages that they complete.
   * @throws RpcError INVALID_ARGUMENT as soon as the head of a message announces too many bytes, UNIMPLEMENTED if it is compressed
   */
  read(chunk: Buffer): Buffer[] {
    this.chunks.push(chunk);
    this.size += chunk.length;
    const messages: Buffer[] = [];
    for (let end = this.findEnd(); end <= this.size; end = this.findEnd()) {
      const bytes = this.join();
      messages.push(bytes.subarray(HEAD_BYTES, end));
      this.size -= end;
      this.chunks = this.size === 0 ? [] : [bytes.subarray(end)];
    }
    return messages;
  }

  /** Where the first message ends. Infinity until its head is complete. */
  private findEnd(): number {
    if (this.size < HEAD_BYTES) return Infinity;
    const [first] = this.chunks;
    const head = first !== undefined && first.length >= HEAD_BYTES ? first : this.join();
    if (head.readUInt8(0) !== 0) throw new RpcError('UNIMPLEMENTED', 'Compressed messages are not supported.');
    const length = head.readUInt32BE(1);
    if (length > MAX_REQUEST_BYTES) {
      throw invalid(`Request payload size exceeds the limit: ${MAX_REQUEST_BYTES} bytes.`);
    }
    return HEAD_BYTES + length;
  }

  private join(): Buffer {
    const [first] = this.chunks;
    const joined = first !== undefined && this.chunks.length === 1 ? first : Buffer.concat(this.chunks);
    this.chunks = [joined];
    return joined;
  }
}
