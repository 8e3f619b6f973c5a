import { onRequest } from 'firebase-functions/v2/https';

/** The least that a Cloud Function can be, for `npm run bench` to compare cold starts with. */
export const bare = onRequest((_, response) => {
  response.send('{}');
});
