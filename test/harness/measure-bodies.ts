import { createRandom, spreadSeed } from '../../dev/random';
import { drawBody } from '../../dev/run/bodies';
import { scanBody } from '../../functions/src/lib/http/request-body';
import { toHeldBytes } from '../../functions/src/lib/memory';
import { parsePriceLists, priceListsShape } from '../../functions/src/lib/schemas/add-price-lists';

/**
 * Draws a body from each seed, and prints a line of JSON for it. `heap` is the memory that is still in use after the scan and the
 * parse, without the text. `share` is that memory plus the text, divided by what memory.ts counts for the body. Needs `--expose-gc`.
 * The arguments of the program are the size in bytes up to which a body is filled, and the seeds.
 */

const [bytes = 0, ...seeds] = process.argv.slice(2).map(Number);

const measureHeap = (): number => {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

/** Returns what the service keeps of a body. For a rejected body, that is the error. */
function read(text: Buffer): unknown {
  try {
    const body = scanBody(text, priceListsShape);
    return [body, parsePriceLists(body)];
  } catch (error) {
    return error;
  }
}

// The first body also loads code, so it is not measured.
read(drawBody(createRandom(1), 10_000).text);

for (const seed of seeds) {
  const { text, what } = drawBody(createRandom(spreadSeed(seed)), bytes);
  const before = measureHeap();
  const held = read(text);
  const heap = measureHeap() - before;
  // `heap` does not include the text, which the service also holds until the end of the scan.
  const share = (heap + text.length) / toHeldBytes(text.length);
  process.stdout.write(
    `${JSON.stringify({ seed, what, bytes: text.length, heap, share, isHeld: held !== undefined })}\n`,
  );
}
