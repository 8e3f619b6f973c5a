/**
 * The region of the functions, which should be near the database. Addresses contain it. If you change it,
 * search the repository for the old one, run `npm run generate`, and tell clients the new addresses.
 */
export const REGION = 'us-central1';
