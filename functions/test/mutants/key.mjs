import { createGroup } from './group.mjs';

/** The states of a key. */
export default createGroup({
  name: 'key',
  files: ['price-lists/key-state-machine', 'price-lists/progress'],
  suites: ['price-lists/key-*', 'price-lists/progress'],
  minScore: 90,
});
