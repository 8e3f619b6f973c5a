import { createGroup } from './group.mjs';

/** Retries and queries. */
export default createGroup({
  name: 'firestore',
  files: ['lib/firestore/{retry,query}'],
  suites: ['lib/firestore/{retry,query,query-calls}'],
  minScore: 85,
});
