/** How long a big query may hold the event loop, which other requests, and under `npm start` the functions, share. */
const SLICE_MS = 5;

/** Gives a function to call now and then in long work: it returns a promise to await when others are due a turn. */
export function timeSlices(): () => Promise<void> | undefined {
  let end = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < end) return undefined;
    return new Promise((resolve) =>
      setImmediate(() => {
        end = performance.now() + SLICE_MS;
        resolve();
      }),
    );
  };
}

const RUN = 2048;

/** Sorts, in runs that are merged pair by pair, pausing where others are due a turn. Stable. */
export async function sortInSlices<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  pause: () => Promise<void> | undefined,
): Promise<T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += RUN) {
    runs.push(items.slice(at, at + RUN).sort(compare));
    await pause();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) merged.push(await merge(runs[i] ?? [], runs[i + 1] ?? [], compare, pause));
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
  pause: () => Promise<void> | undefined,
): Promise<T[]> {
  const merged: T[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if ((merged.length & 1023) === 0) await pause();
    const takeLeft = j >= right.length || (i < left.length && compare(left[i] as T, right[j] as T) <= 0);
    merged.push((takeLeft ? left[i++] : right[j++]) as T);
  }
  return merged;
}
