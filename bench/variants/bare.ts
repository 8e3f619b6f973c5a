import { onRequest } from 'firebase-functions/v2/https';

/** A function that does nothing. */
export const bare = onRequest((_, response) => {
  response.send('{}');
});
