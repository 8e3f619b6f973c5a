/**
 * Stands for firebase-admin/auth and firebase-admin/app-check in the bundle (scripts/build.mjs). firebase-functions verifies the
 * callers of callable functions with them; no function here is callable.
 */

export const getAppCheck = () => fail('firebase-admin/app-check');
export const getAuth = () => fail('firebase-admin/auth');

function fail(name) {
  throw new Error(`${name} is not bundled: see scripts/build.mjs`);
}
