import { createGroup } from './group.mjs';

/** The JSON parsers. */
export default createGroup({
  name: 'json',
  files: ['lib/json/*'],
  suites: ['lib/json/*'],
  minScore: 85,
});
