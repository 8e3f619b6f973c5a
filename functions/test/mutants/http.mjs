import { createGroup } from './group.mjs';

/** API keys, request bodies and responses. */
export default createGroup({
  name: 'http',
  files: ['lib/http/{api-key,request-body,response}'],
  suites: ['lib/http/{api-key,request-body,response}'],
  minScore: 85,
});
