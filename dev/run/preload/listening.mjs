import { channel } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';

/**
 * Writes the port of a program that listens on port 0 to file descriptor 3. Load this file before the
 * program. Node publishes to the channel below when a server starts to listen.
 */
channel('tracing:net.server.listen:asyncEnd').subscribe(({ server }) => writeSync(3, `${server.address().port}\n`));
