'use strict';

/**
 * Replaces firebase-admin/auth and firebase-admin/app-check in the bundle (dev/build/build.mjs) and
 * in Jest. firebase-functions uses them to verify the callers of callable functions, and no function
 * of this service is callable.
 */
exports.getAppCheck = () => fail('firebase-admin/app-check');
exports.getAuth = () => fail('firebase-admin/auth');

function fail(name) {
  throw new Error(`${name} is not bundled: see dev/build/build.mjs`);
}
