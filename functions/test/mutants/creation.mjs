import { createGroup } from './group.mjs';

/** A creation, from the claim of its key to its response. */
export default createGroup({
  name: 'creation',
  files: ['price-lists/{apply-event,attempt,claim,create-price-lists,entries,lease,list-documents,responses}'],
  suites: ['price-lists/{create-price-lists,recovery,responses}'],
  minScore: 90,
});
