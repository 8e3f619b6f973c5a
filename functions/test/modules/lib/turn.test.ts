import { takeTurn } from '../../../src/lib/turn';

test('between the turns of several callers, the event loop runs what is due', async () => {
  const order: string[] = [];
  const work = async (name: string) => {
    await takeTurn();
    order.push(name);
    // The timer is due when this piece of work ends, because the work holds the event loop for longer than 1 ms.
    setTimeout(() => order.push('timer'), 1);
    const end = performance.now() + 5;
    while (performance.now() < end);
  };
  await Promise.all(['first', 'second', 'third'].map(work));
  expect(order).toEqual(['first', 'timer', 'second', 'timer', 'third']);
});
