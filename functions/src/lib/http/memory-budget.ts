/**
 * Counts what the requests of an instance hold in memory, even after their clients have left, and bounds the sum
 * (docs/security.md#request-bodies). memory.ts leaves room for what is not counted.
 */
export class MemoryBudget {
  #heldBytes = 0;

  constructor(private readonly maxBytes: number) {}

  /** Creates the share of one request, which is empty at first. */
  createShare(): MemoryShare {
    let ownBytes = 0;
    const tryResize = (bytes: number): boolean => {
      const heldBytes = this.#heldBytes - ownBytes + bytes;
      if (bytes > ownBytes && heldBytes > this.maxBytes) return false;
      this.#heldBytes = heldBytes;
      ownBytes = bytes;
      return true;
    };
    return { tryResize, release: () => void tryResize(0) };
  }
}

export interface MemoryShare {
  /** @returns false, and changes nothing, if the share would grow beyond what the budget has left */
  tryResize: (bytes: number) => boolean;
  release: () => void;
}
