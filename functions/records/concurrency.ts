/** Calls `fn` for each item, with at most `limit` calls at once. No call starts after an error. @throws the first error */
export async function forEachConcurrently<T>(
  items: readonly T[],
  limit: number,
  fn: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  let failed = false;
  const work = async () => {
    for (const item of waiting) {
      if (failed) return;
      await fn(item).catch((error: unknown) => {
        failed = true;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
}
