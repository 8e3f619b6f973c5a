import { createGroup } from './group.mjs';

/** Resume, release and sweep. */
export default createGroup({
  name: 'recovery',
  files: ['price-lists/{release,resolution-error,resume,stored-payload,sweep}'],
  suites: ['price-lists/{recovery,responses}'],
  minScore: 90,
});
