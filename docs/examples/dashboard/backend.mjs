/*
 * The backend of a dashboard. It holds the API key, and serves the pages and the data of the orders page.
 *
 *     BASE_URL=http://127.0.0.1:5001/demo-price-lists/us-central1 API_KEY=local-dev-key node backend.mjs
 *
 * It needs Node 20.3 or later and no package. It does not check who the user is: replace mayRead below.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { pipeline } from 'node:stream/promises';

/**
 * The backend listens on PORT of LISTEN_ADDRESS, which has to be 0.0.0.0 in a container. HOSTS has further names of the
 * dashboard, separated by commas, such as dashboard.example.com.
 */
const { BASE_URL = '', API_KEY = '', PORT = '3000', LISTEN_ADDRESS = '127.0.0.1', HOSTS = '' } = process.env;

if (!/^https?:\/\/[^/]/.test(BASE_URL)) stop('BASE_URL must be the base address of the service, an HTTP URL.');
if (!/^[!-~]+$/.test(API_KEY)) stop('API_KEY must be the API key of the service, without spaces.');
if (!/^\d{1,5}$/.test(PORT) || Number(PORT) > 65_535) stop(`PORT must be a number from 0 to 65535, not "${PORT}".`);

/**
 * Returns true if the user of a request may read data. Replace this function: it lets everybody who reaches the backend read the data of all teams.
 *
 * @param request the request of the page, with its cookies and other headers
 * @param operation getMarkets (all markets), getTeams (all teams), getOrdersByTeam or supplyOrdersInvoices
 * @param teamId the team whose orders or invoices the page asks for; undefined for markets and teams, or if the page names none
 */
// eslint-disable-next-line @typescript-eslint/no-unused-vars -- The parameters are for the function that replaces this one.
async function mayRead(request, operation, teamId) {
  return true;
}

/** Longer than the two minutes in which the service responds to a read. */
const READ_TIMEOUT_MS = 125_000;

const FILES = {
  '/': ['orders.html', 'text/html; charset=utf-8'],
  '/orders.mjs': ['orders.mjs', 'text/javascript; charset=utf-8'],
  '/warehouses.html': ['warehouses.html', 'text/html; charset=utf-8'],
  '/warehouses.mjs': ['warehouses.mjs', 'text/javascript; charset=utf-8'],
  '/dashboard.css': ['dashboard.css', 'text/css; charset=utf-8'],
};

/** The reads that the orders page can request, with their methods and operations. */
const READS = {
  '/api/markets': ['GET', 'getMarkets'],
  '/api/teams': ['GET', 'getTeams'],
  '/api/orders': ['POST', 'getOrdersByTeam'],
  '/api/invoices': ['POST', 'supplyOrdersInvoices'],
};

/** The backend refuses requests for other host names, because a website could make its own name resolve to the backend, and then read every response. */
const hosts = ['127.0.0.1', 'localhost', '[::1]', ...HOSTS.split(',').map((name) => name.trim().toLowerCase())];

const MAX_QUERY_CHARACTERS = 100_000;

const parseHost = (address) => (URL.canParse(address) ? new URL(address).hostname : '');

const isKnown = (host) => host !== '' && hosts.includes(host);

async function respond(request, response) {
  if (!isKnown(parseHost(`http://${request.headers.host}`))) return sendError(response, 403, 'Unknown host');
  const [path] = request.url.split('?');
  if (Object.hasOwn(FILES, path)) return sendFile(response, ...FILES[path]);
  const [method, operation] = Object.hasOwn(READS, path) ? READS[path] : [];
  if (operation === undefined || request.method !== method) return sendError(response, 404, 'Not found');
  const query = method === 'POST' ? await readQuery(request) : undefined;
  if (query === null) return sendError(response, 400, 'The query is not a JSON object, or is too long');
  if (!(await mayRead(request, operation, query?.team_id)))
    return sendError(response, 403, 'You may not read this data');
  return sendRead(response, method, operation, query);
}

/** Returns what a page asks for, or null if that is not a JSON object or is too long. */
async function readQuery(request) {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_QUERY_CHARACTERS) return null;
  }
  try {
    const query = JSON.parse(text);
    return typeof query === 'object' && !Array.isArray(query) ? query : null;
  } catch {
    return null;
  }
}

async function sendFile(response, name, type) {
  const headers = { 'Content-Security-Policy': "frame-ancestors 'none'", 'X-Content-Type-Options': 'nosniff' };
  const content = await readFile(new URL(name, import.meta.url));
  response.writeHead(200, { ...headers, 'Content-Type': type, 'Cache-Control': 'no-cache' }).end(content);
}

/**
 * Forwards a 200 or 400 as it arrives, and sends 502 otherwise. An error in the middle of a response breaks the connection
 * to the page. Aborts the read if the page closes its connection.
 */
async function sendRead(response, method, operation, query) {
  const pageLeft = new AbortController();
  response.once('close', () => pageLeft.abort());
  try {
    const answer = await fetch(`${BASE_URL.replace(/(?<!\/)\/+$/, '')}/${operation}`, {
      method,
      headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json' },
      // Sends the parsed query instead of the page's bytes, because the service's parser could read a different team from the bytes.
      body: query && JSON.stringify(query),
      redirect: 'error',
      signal: AbortSignal.any([pageLeft.signal, AbortSignal.timeout(READ_TIMEOUT_MS)]),
    });
    // After a 400, a user can correct the input. Other errors become a 502, because a page would, for example, take a 401 to mean
    // that its user is signed out.
    if (answer.status !== 200 && answer.status !== 400)
      throw new Error(`status ${answer.status}, X-Request-Id ${answer.headers.get('X-Request-Id')}`);
    response.writeHead(answer.status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
    await pipeline(answer.body, response);
  } catch (error) {
    if (pageLeft.signal.aborted && !response.headersSent) return;
    console.error(`${operation}: ${error.cause?.message ?? error.message}`);
    if (!response.headersSent) sendError(response, 502, 'The data cannot be read at the moment. Try again later.');
  }
}

const sendError = (response, status, error) =>
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error }));

function stop(message) {
  console.error(message);
  process.exit(1);
}

const server = createServer((request, response) => {
  respond(request, response).catch((error) => {
    console.error(error);
    if (response.headersSent) response.destroy();
    else sendError(response, 500, 'Internal error');
  });
});
server.on('error', ({ code, message }) =>
  stop(code === 'EADDRINUSE' ? `Port ${PORT} is taken. Set PORT to another port.` : message),
);
server.listen(PORT, LISTEN_ADDRESS, () => console.log(`Listening on http://localhost:${server.address().port}`));
