import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, resolve } from 'node:path';
import { compileFunction } from 'node:vm';
import { http, type HttpFunction } from '@google-cloud/functions-framework';
import { getTestServer } from '@google-cloud/functions-framework/testing';

/** Where the functions answer: this machine and nobody else's. */
const HOST = '127.0.0.1';

export interface FunctionsServerOptions {
  /** 0: any free one. */
  port: number;
  /** The Firebase project id, the first part of every address. */
  project: string;
  /** The folder of the built bundle. Each of its exports is one HTTPS function; what they read of the environment is set by now. */
  bundle: string;
  /** What answers at paths that are no function's, such as a page at `/`. */
  extraRoutes?: ReadonlyMap<string, RequestListener>;
}

/** The functions as they answer on this machine. */
export interface FunctionsServer {
  /** `http://127.0.0.1:<port>` */
  origin: string;
  /** The address of each function, by its name. */
  addresses: ReadonlyMap<string, string>;
  /** Accepts nothing more, lets what is under way finish, and after `graceMs` breaks off what has not. */
  close(graceMs: number): Promise<void>;
}

/** What a deployment knows of a function, as firebase-functions writes it on the function itself. */
type DeployableFunction = HttpFunction & { readonly __endpoint: { readonly region: readonly string[] } };

/**
 * Serves every function of a bundle in this process, each behind the Functions Framework's own HTTP layer as in
 * production, at `/<project>/<region>/<name>` as Firebase's emulator has it.
 *
 * @throws the error of `listen`, e.g. with the code EADDRINUSE
 */
export async function startFunctionsServer({
  port,
  project,
  bundle,
  extraRoutes,
}: FunctionsServerOptions): Promise<FunctionsServer> {
  const functions = Object.entries(loadBundle(bundle));
  const paths = new Map(
    functions.map(([name, { __endpoint }]) => [name, `/${project}/${__endpoint.region[0]}/${name}`]),
  );
  const routes = new Map(functions.map(([name, handler]) => [paths.get(name), wrapWithFramework(name, handler)]));

  const server = createServer((request, response) => {
    const [path = '', ...query] = (request.url ?? '').split('?');
    const listener = routes.get(path);
    if (listener !== undefined) {
      // A deployed function is at the root of its own host.
      request.url = ['/', ...query].join('?');
      listener(request, response);
      return;
    }
    (extraRoutes?.get(path) ?? notFound)(request, response);
  });
  // As the framework sets its own server.
  server.setTimeout(0);
  server.listen(port, HOST);
  await once(server, 'listening');

  const origin = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  const addresses = new Map([...paths].map(([name, path]) => [name, origin + path]));
  const notFound: RequestListener = (_, response) => {
    response.writeHead(404, { 'Content-Type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify({ error: 'Not found', addresses: Object.fromEntries(addresses) }));
  };
  return { origin, addresses, close: (graceMs) => closeServer(server, graceMs) };
}

/**
 * What a CommonJS bundle exports. It is compiled here, as Node itself would, and not required: the hook by which tsx
 * compiles this project's TypeScript would first transform all of the bundle, which takes seven times as long as loading it.
 */
function loadBundle(folder: string): Record<string, DeployableFunction> {
  const require = createRequire(resolve(folder, 'package.json'));
  const file = require.resolve(resolve(folder));
  const module = { exports: {} };
  const names = ['exports', 'require', 'module', '__filename', '__dirname'];
  const run = compileFunction(readFileSync(file, 'utf8'), names, { filename: file }) as (...values: unknown[]) => void;
  run(module.exports, require, module, file, dirname(file));
  return module.exports;
}

/**
 * The function as the framework serves it. The framework's server never listens itself: it is handed the requests of
 * the one that does, so that Node reports each of them, once, as it does in production.
 */
function wrapWithFramework(name: string, handler: HttpFunction): RequestListener {
  http(name, handler);
  const inner = getTestServer(name);
  return (request, response) => void inner.emit('request', request, response);
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // Closing ends the connections that are idle now; those whose requests end meanwhile would be kept for the next one.
  const endIdle = setInterval(() => server.closeIdleConnections(), 50);
  const breakOff = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(endIdle);
  clearTimeout(breakOff);
}
