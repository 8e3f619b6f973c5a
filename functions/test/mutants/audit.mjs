import { createGroup } from './group.mjs';

/** The audit, and what it reads. */
export default createGroup({
  name: 'audit',
  files: ['price-lists/{audit,stored-attempt}'],
  suites: ['price-lists/audit'],
  minScore: 90,
});
