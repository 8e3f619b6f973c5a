import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { http, type HttpFunction } from '@google-cloud/functions-framework';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import { refuseForeignHost, refuseOtherSite } from '../pages/page-headers';
import type { GetRoute, Route } from '../pages/route';
import { HOST } from './local-config';
import { startSchedules, type ScheduledFunction } from './schedules';

/** A function with the deployment options that firebase-functions attaches to it. */
export type DeployableFunction = HttpFunction & {
  readonly __endpoint: { readonly region: readonly string[] };
  /** Absent from scheduled functions. `cors` says whether pages of other sites may call the operation. */
  readonly operation?: { readonly cors: boolean };
};

const isScheduled = (each: DeployableFunction): each is DeployableFunction & ScheduledFunction =>
  'scheduleTrigger' in each.__endpoint;

export interface FunctionsServerOptions {
  /** Port 0 selects a free port. */
  port: number;
  /** Firebase project id, the first segment of each path. */
  project: string;
  /** Deployable functions by name. They check some variables, such as CORS_ALLOWED_ORIGINS, while they are loaded, so set these first. */
  functions: Readonly<Record<string, DeployableFunction>>;
  /** Finds the listener for a path that belongs to no function, such as `/`. */
  getExtraRoute?: GetRoute;
}

export interface FunctionsServer {
  /** `http://127.0.0.1:<port>` */
  origin: string;
  /** Address of each HTTPS function by name. Scheduled functions have none. */
  addresses: ReadonlyMap<string, string>;
  /**
   * Stops the schedules, accepts no more connections, lets open requests finish, and closes all connections after `graceMs` at the
   * latest.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Serves each HTTPS function behind the Functions Framework's HTTP layer, as in production. The path of a function is
 * `/<project>/<region>/<name>`, as in Firebase's emulator. Calls scheduled functions on their schedule.
 *
 * @throws the error of `listen`, such as EADDRINUSE, or Error for a schedule that {@link startSchedules} does not support
 */
export async function startFunctionsServer(options: FunctionsServerOptions): Promise<FunctionsServer> {
  const { port, project, functions, getExtraRoute } = options;
  const entries = Object.entries(functions).filter(([, each]) => !isScheduled(each));
  const paths = new Map(entries.map(([name, { __endpoint }]) => [name, `/${project}/${__endpoint.region[0]}/${name}`]));
  const routes = entries.map(([name, handler]) => ({
    name: paths.get(name) ?? '',
    listener: wrapWithFramework(name, handler),
    isForOtherSites: handler.operation?.cors ?? false,
  }));

  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    takeCompleteAddress(request);
    const [path = '', ...query] = (request.url ?? '').split('?');
    const route = routes.find(({ name }) => path === name || path.startsWith(`${name}/`));
    if (refuseForeignHost(request, response)) return;
    if (!route?.isForOtherSites && refuseOtherSite(request, response)) return;
    if (route === undefined) {
      const extra = getExtraRoute?.(path) ?? sendNotFound;
      await extra(request, response);
      return;
    }
    // A deployed function receives only the part of the URL that follows its address.
    request.url = [path.slice(route.name.length) || '/', ...query].join('?');
    route.listener(request, response);
  };
  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => {
      console.error(error);
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: 'Internal error' });
    });
  });
  // The Functions Framework sets the same timeout on its own server.
  server.setTimeout(0);
  const origin = await listen(server, port);
  const addresses = new Map([...paths].map(([name, path]) => [name, origin + path]));
  const sendNotFound: Route = (_, response) => {
    sendJson(response, 404, { error: 'Not found', addresses: Object.fromEntries(addresses) });
  };
  const stopSchedules = startSchedules(Object.values(functions).filter(isScheduled));
  const close = (graceMs: number) => {
    stopSchedules();
    return closeServer(server, graceMs);
  };
  return { origin, addresses, close };
}

/** Takes the host and the path from a target that is a complete address (RFC 9112, section 3.2.2). */
function takeCompleteAddress(request: IncomingMessage): void {
  const { url = '' } = request;
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return;
  const { host, pathname, search } = new URL(url);
  request.headers.host = host;
  request.url = pathname + search;
}

/** @returns the origin at which the server listens */
async function listen(server: Server, port: number): Promise<string> {
  server.listen(port, HOST);
  await once(server, 'listening');
  return `http://${HOST}:${(server.address() as AddressInfo).port}`;
}

function sendJson(response: Parameters<RequestListener>[1], status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

/**
 * Passes requests to the framework's server, which does not listen itself. Node then publishes `http.server.request.start`
 * once per request, as in production.
 */
function wrapWithFramework(name: string, handler: HttpFunction): RequestListener {
  http(name, handler);
  const inner = getTestServer(name);
  return (request, response) => void inner.emit('request', request, response);
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // `close` ends only connections that are already idle. Connections that become idle later would stay open for up to six seconds.
  const endIdle = setInterval(() => server.closeIdleConnections(), 50);
  const breakOff = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(endIdle);
  clearTimeout(breakOff);
}
