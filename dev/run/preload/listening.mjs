import { channel } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';

/**
 * Writes to file descriptor 3 the port that a program got when it listened on port 0. Load this file before the program.
 * Node publishes to the channel below when a server starts to listen.
 */
channel('tracing:net.server.listen:asyncEnd').subscribe(({ server }) => writeSync(3, `${server.address().port}\n`));
