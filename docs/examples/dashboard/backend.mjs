/*
 * The backend of a dashboard. It holds the API key, and serves the page and the page's data.
 *
 *     npm install ../../organisation-data-client-2.0.0.tgz
 *     BASE_URL=... API_KEY=... node backend.mjs
 *
 * It does not check who the user is. A comment below says where to add that check.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createClient } from 'organisation-data-client';

const { BASE_URL = '', API_KEY = '', PORT = '3000' } = process.env;

// A user waits for each read, so these times are shorter than the client's defaults.
const client = createClient(BASE_URL, API_KEY, { requestTimeoutMs: 10_000, retryForMs: 15_000 });

/** The reads that the page may ask for. Each takes the fields of the query. */
const reads = new Map([
  ['/api/markets', () => client.getMarkets()],
  ['/api/teams', () => client.getTeams()],
  ['/api/orders', ({ status = 'ALL', ...range }) => client.getOrdersByTeam({ ...range, status })],
  ['/api/invoices', (range) => client.supplyOrdersInvoices({ ...range, status: null })],
]);

async function respond(request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (pathname === '/') {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    return response.end(await readFile(new URL('page.html', import.meta.url)));
  }
  const read = reads.get(pathname);
  if (request.method !== 'GET' || read === undefined) return sendJson(response, 404, { error: 'Not found' });
  // Reject users who are not signed in, and teams that they may not see, here. The API key reads all teams.
  sendJson(response, 200, await read(Object.fromEntries(searchParams)));
}

/** Responds to a read that failed. The service's 401 is an error of this backend, not of its user. */
function respondToError(error, response) {
  console.error(error);
  if (error.status === 400) return sendJson(response, 400, error.body);
  sendJson(response, 502, { error: 'The data cannot be read at the moment' });
}

const sendJson = (response, status, body) =>
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));

const server = createServer((request, response) => {
  respond(request, response).catch((error) => respondToError(error, response));
});
server.listen(PORT, '127.0.0.1', () => console.log(`Listening on http://127.0.0.1:${server.address().port}`));
