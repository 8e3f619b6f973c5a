import { createGroup } from './group.mjs';

/** What holds of stored records. */
export default createGroup({
  name: 'invariants',
  files: ['price-lists/{entry-differences,invariants}'],
  suites: ['price-lists/invariants'],
  minScore: 90,
});
