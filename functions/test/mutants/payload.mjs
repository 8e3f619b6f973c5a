import { createGroup } from './group.mjs';

/** What a client submits, as it is parsed and stored. */
export default createGroup({
  name: 'payload',
  files: ['price-lists/{payload,submission-parser}'],
  suites: ['price-lists/{payload,submission-parser}'],
  minScore: 90,
});
