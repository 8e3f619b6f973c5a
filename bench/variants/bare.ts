import { onRequest } from 'firebase-functions/v2/https';

/** A function that responds to every request at once. */
export const bare = onRequest((_, response) => {
  response.send('{}');
});
