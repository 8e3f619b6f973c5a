/**
 * The region of the functions: a choice, best near the database. Addresses contain it, so to change
 * it, also replace it in the pages and examples under docs, and tell clients their new addresses.
 */
export const REGION = 'us-central1';
