import type { AddressInfo } from 'node:net';
import { http, type HttpFunction } from '@google-cloud/functions-framework';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import { addPriceLists } from '../../src/index';

/** A process of its own that serves add price lists, for tests that kill it. It tells its parent the port. */
http('addPriceLists', addPriceLists as HttpFunction);
const server = getTestServer('addPriceLists');
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
