import { forEachConcurrently } from '../../../records/concurrency';

test('forEachConcurrently starts as many items as the limit allows, and none after an error', async () => {
  const begun: number[] = [];
  const held = Promise.withResolvers<undefined>();
  const work = forEachConcurrently([1, 2, 3, 4], 2, async (item) => {
    begun.push(item);
    if (item === 2) throw new Error('the second');
    await held.promise;
  });
  await expect(work).rejects.toThrow('the second');
  held.resolve(undefined);
  await new Promise(setImmediate);
  expect(begun).toEqual([1, 2]);
});
