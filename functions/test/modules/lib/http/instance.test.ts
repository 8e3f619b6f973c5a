import { startInstance } from '../../../../src/lib/http/instance';

const { versions } = process;

afterEach(() => Object.defineProperty(process, 'versions', { value: versions }));

test('a process on an older Node says which one it needs, in place of answering 500', () => {
  Object.defineProperty(process, 'versions', { value: { ...versions, node: '20.20.2' } });
  expect(startInstance).toThrow('The functions need Node 22 or later, but Node 20.20.2 runs them.');
});
