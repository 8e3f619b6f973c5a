import { createRequire } from 'node:module';

/*
 * One function of a bundle behind the Functions Framework's own HTTP layer: node bench/child.mjs BUNDLE FUNCTION
 * Sends its parent process the port, and on request a figure of its own.
 */
const [bundle, name] = process.argv.slice(2);
const require = createRequire(bundle);
const { http } = require('@google-cloud/functions-framework');
const { getTestServer } = require('@google-cloud/functions-framework/testing');

http(name, require(bundle)[name]);
const server = getTestServer(name);
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));

const figures = {
  cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  liveMb() {
    globalThis.gc();
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / 1e6;
  },
};
process.on('message', (figure) => process.send(figures[figure]()));
process.on('disconnect', () => process.exit());
