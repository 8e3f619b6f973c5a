'use strict';

/**
 * Loaded before a program that listens at port 0 and does not tell which it got: writes the number
 * to file descriptor 3. Node publishes the channel for this purpose.
 */
const { channel } = require('node:diagnostics_channel');
const { writeSync } = require('node:fs');

channel('tracing:net.server.listen:asyncEnd').subscribe(({ server }) => writeSync(3, `${server.address().port}\n`));
