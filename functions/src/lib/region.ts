/**
 * The region of the functions, best near the database. Addresses contain it: if you change it, also
 * replace it in the pages and examples under docs, and tell clients their new addresses.
 */
export const REGION = 'us-central1';
