import { RpcError, invalid } from './errors';

/*
 * gRPC frames each message with one byte that says whether the message is compressed, and four bytes with its length.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */

const HEAD_BYTES = 5;

/** The maximum size of a request, and so of a commit: https://firebase.google.com/docs/firestore/quotas. */
const MAX_REQUEST_BYTES = 10 * 1024 * 1024;

/** The upper bound of the memory for open calls of all clients. Eight commits of the maximum size fit. */
const MAX_HELD_BYTES = 84 * 1024 * 1024;

/** What an open call counts in addition to its message: more than the memory that Node takes for its stream. */
const CALL_BYTES = 16 * 1024;

/** Prepends the head of gRPC to a message. */
export function frameMessage(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  framed.writeUInt8(0, 0);
  framed.writeUInt32BE(message.length, 1);
  message.copy(framed, HEAD_BYTES);
  return framed;
}

/** Bounds the memory of open calls and their unfinished messages. Above the bound, it evicts the calls that have been quiet longest. */
export class MessageMemory {
  /** The bytes that each call holds, in the order in which bytes last arrived. */
  private readonly held = new Map<MessageReader, number>();
  private total = 0;

  /** Sets the number of bytes that a message holds. Can evict other calls, and calls `onEvicted` of each. */
  update(reader: MessageReader, bytes: number): void {
    this.remove(reader);
    this.held.set(reader, CALL_BYTES + bytes);
    this.total += CALL_BYTES + bytes;
    for (const [oldest] of this.held) {
      if (this.total <= MAX_HELD_BYTES) return;
      oldest.close();
      oldest.onEvicted();
    }
  }

  remove(reader: MessageReader): void {
    this.total -= this.held.get(reader) ?? 0;
    this.held.delete(reader);
  }
}

/** Reads the one message of a call. Refuses a message that is too long. */
export class MessageReader {
  /** A copy of the bytes so far. A view of a network buffer would keep the whole buffer in memory. */
  private held = Buffer.alloc(0);
  private size = 0;
  private isClosed = false;

  /** @param onEvicted called when the call has to end, because the server holds too much */
  constructor(
    private readonly memory: MessageMemory,
    readonly onEvicted: () => void,
  ) {
    memory.update(this, 0);
  }

  /**
   * Takes the next bytes, and returns the message when it is complete.
   * @throws RpcError INVALID_ARGUMENT as soon as the head announces too many bytes, UNIMPLEMENTED if the message is compressed
   */
  read(chunk: Buffer): Buffer | undefined {
    const size = this.size + chunk.length;
    if (size > this.held.length) {
      const end = findEnd(this.held.subarray(0, this.size));
      const larger = Buffer.allocUnsafeSlow(Math.max(size, Math.min(16 * this.held.length, end)));
      this.held.copy(larger, 0, 0, this.size);
      this.held = larger;
    }
    chunk.copy(this.held, this.size);
    this.size = size;
    const end = findEnd(this.held.subarray(0, size));
    if (end <= size) return this.held.subarray(HEAD_BYTES, end);
    this.memory.update(this, this.held.length);
    return undefined;
  }

  /** Forgets the message. */
  release(): void {
    this.held = Buffer.alloc(0);
    if (!this.isClosed) this.memory.update(this, 0);
  }

  /** Forgets the call, once its stream is closed. */
  close(): void {
    this.isClosed = true;
    this.release();
    this.memory.remove(this);
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
