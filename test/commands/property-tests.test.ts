import fc from 'fast-check';

/** What the author of a property test sees when it fails: its counterexample, and how to run it again. */

const orders = fc.array(
  fc.nat().map((count) => ({ order: { count } })),
  { minLength: 1 },
);

test('a failing property shows its counterexample in full, its error, and how to repeat it', () => {
  const fail = () =>
    fc.assert(
      fc.property(orders, ([first]) => {
        if ((first?.order.count ?? 0) > 4) throw new Error('more than four');
      }),
      { seed: 7 },
    );
  expect(fail).toThrow('Counterexample: [[{"order":{"count":5}}]]');
  expect(fail).toThrow(/seed: 7, path: "[\d:]+"/);
});

test('so does one that is asynchronous', async () => {
  const isFalse = fc.asyncProperty(orders, () => Promise.resolve(false));
  await expect(fc.assert(isFalse)).rejects.toThrow('Counterexample: [[{"order":{"count":0}}]]');
});
