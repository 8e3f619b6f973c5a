import { startFirestore } from '../src';
import { Store } from '../src/storage/store';
import { get, int, read, set, times, type Call } from './conformance/calls';
import { connect } from './conformance/protocol';
import { runSequence } from './conformance/sequence';

/* Tests reads of earlier versions against this server only, because Google's emulator has no clock that a test could set. */

const START = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const NOT_FOUND = [{ missing: '$db/documents/b/1' }];
const FAILED_PRECONDITION = 9;

let now: number;
const open = async () => {
  now = START;
  const firestore = await startFirestore({ clock: () => now });
  const server = connect(firestore.address);
  return {
    run: (...calls: Call[]) => runSequence(server, 'projects/p/databases/(default)', calls),
    close: () => {
      server.close();
      return firestore.close();
    },
  };
};

test('a read time separates the commits before it from those after it, even if the clock does not advance', async () => {
  const { run, close } = await open();
  const versions = times(20, (n) => [set('a/1', { n: int(n) }), get('a/1')]).flat();
  const reads = times(20, (n) => read(['a/1'], { readTime: `$read:${2 * n + 1}` }));
  const answers = await run(...versions, ...reads);
  expect(answers.slice(40)).toEqual(answers.slice(0, 40).filter((_, i) => i % 2 === 1));
  await close();
});

test('a read at a time within the past hour succeeds, and a read at an earlier time is rejected', async () => {
  const { run, close } = await open();
  const readAt = async (minute: number, path = 'a/1') => {
    const readTime = { seconds: String((START + minute * MINUTE_MS) / 1000) };
    const [answer] = await run(read([path], { readTime }));
    return answer;
  };
  await run(set('a/1', { n: int(1) }));
  const first = { code: 0, result: [{ found: expect.objectContaining({ fields: { n: int(1) } }) as unknown }] };
  now += 10 * MINUTE_MS;
  await run(set('a/1', { n: int(2) }));
  now += 49 * MINUTE_MS;
  await run(set('b/1'));
  expect(await readAt(0)).toEqual(first);
  expect(await readAt(0, 'b/1')).toEqual({ code: 0, result: NOT_FOUND });
  now += 2 * MINUTE_MS;
  await run(set('b/1', { n: int(3) }));
  expect(await readAt(0)).toEqual({ code: FAILED_PRECONDITION });
  expect(await readAt(6)).toEqual(first);
  await close();
});

test('the oldest versions are dropped when all earlier versions together take more than 256 MiB', () => {
  const store = new Store(undefined, Date.now);
  const document = { collection: 'c', id: '1', createTime: 1, updateTime: 1, row: 0 };
  const old = { ...document, fields: Buffer.alloc(1024 * 1024) };
  const replace = () => {
    const time = store.nextTime();
    store.apply([{ ...document, old, doc: old }], time);
    return time;
  };
  const [first = 0] = times(255, replace);
  expect(() => store.assertReadable(first - 1)).not.toThrow();
  replace();
  expect(() => store.assertReadable(first - 1)).toThrow('too old');
  expect(() => store.assertReadable(first)).not.toThrow();
});
