'use strict';

/** Replaces supports-color, which the package `debug` would load from any folder above a bundled program. */
module.exports = false;
