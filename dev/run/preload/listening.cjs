'use strict';

/**
 * Writes the port of a program that listens on port 0 to file descriptor 3. Load this file before the
 * program. Node publishes to the channel below when a server starts to listen.
 */
const { channel } = require('node:diagnostics_channel');
const { writeSync } = require('node:fs');

channel('tracing:net.server.listen:asyncEnd').subscribe(({ server }) => writeSync(3, `${server.address().port}\n`));
