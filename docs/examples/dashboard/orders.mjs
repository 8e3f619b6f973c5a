/*
 * Shows the orders of a team, or its supply orders with their invoices. All data comes from this page's own origin, so the
 * browser needs neither CORS nor an API key.
 */
const { document } = globalThis;

const PAGE_SIZE = 100;
const DAY_MS = 86_400_000;

/** How to show each kind of record. `statuses` maps the names on the page to the values that the service expects. */
const KINDS = {
  orders: {
    noun: 'order',
    statuses: new Map([
      ['Any', 'ALL'],
      ['Waiting', 'WAITING'],
      ['Linking', 'LINKING'],
      ['Delivering', 'DELIVERING'],
      ['Delivered', 'DELIVERED'],
      ['Cancelled', 'CANCELLED'],
    ]),
    columns: ['Order', 'Customer', 'Market', 'Invoice'],
    getRecords: ({ orders }) => Object.entries(orders),
    toCells: ([id, { customer_data, market_id, invoice_id }]) => [
      id,
      customer_data.customer_name,
      markets.get(market_id)?.name ?? market_id,
      invoice_id,
    ],
  },
  invoices: {
    noun: 'supply order',
    // The meaning of 0 and 1 is not defined, so the page shows the numbers.
    statuses: new Map([
      ['Any', null],
      ['0', 0],
      ['1', 1],
    ]),
    columns: ['Supply order', 'Invoices'],
    getRecords: ({ supply_orders }) => supply_orders,
    toCells: ({ id, invoices }) => [id, invoices.flatMap((invoice) => [toLink(invoice), ' '])],
  },
};

const find = (selector) => document.querySelector(selector);
const form = find('form');
const { kind, team_id: team, status, from, to, show } = form.elements;
const [previous, next] = document.querySelectorAll('section button');

/** The markets by their ids, in a Map, because an object also has what it inherits, such as `constructor`. */
let markets = new Map();
/** The records that the page shows. All come from one response. */
let shown = { kind: KINDS.orders, records: [], start: 0 };
/** Aborts the read that the page waits for. */
let reading = new AbortController();

function showStatuses() {
  status.replaceChildren(...[...KINDS[kind.value].statuses.keys()].map((name) => new Option(name)));
}

/** Fills the form with default dates and the teams, and reads the markets. */
async function prepare() {
  const now = Date.now();
  from.value = toDay(now - 365 * DAY_MS);
  to.value = toDay(now);
  showStatuses();
  setMessages({ status: 'Reading the teams …' });
  const { signal } = reading;
  const [teams, allMarkets] = await Promise.all([read('api/teams', { signal }), read('api/markets', { signal })]);
  markets = new Map(Object.entries(allMarkets.markets));
  const options = Object.entries(teams.teams).map(([id, { name }]) => new Option(name ?? id, id));
  team.replaceChildren(...options.sort((a, b) => a.text.localeCompare(b.text)));
  show.disabled = false;
  setMessages({});
}

/** Reads what the form asks for. Aborts the previous read, so that its response cannot appear under the new title. */
async function showRecords() {
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  const chosen = KINDS[kind.value];
  const title = `${team.selectedOptions[0].text}, ${from.value} to ${to.value}, status: ${status.value}`;
  const body = {
    team_id: team.value,
    status: chosen.statuses.get(status.value),
    start_date: from.value,
    // The service excludes `end_date`, so `end_date` is the day after the last day of the range.
    end_date: toDay(Date.parse(to.value) + DAY_MS),
  };
  find('section').hidden = true;
  setMessages({ status: `Reading: ${title} …` });
  const records = chosen.getRecords(
    await read(`api/${kind.value}`, { method: 'POST', body: JSON.stringify(body), signal }),
  );
  find('h2').textContent = title;
  find('thead').replaceChildren(toRow('th', chosen.columns));
  shown = { kind: chosen, records, start: 0 };
  find('section').hidden = records.length === 0;
  setMessages({ status: `${format(records.length)} ${chosen.noun}${records.length === 1 ? '' : 's'}` });
  showRows(0);
}

/** Shows a page of the records, because 100,000 rows at once would block the browser. */
function showRows(start) {
  const { records, kind } = (shown = { ...shown, start });
  const end = Math.min(start + PAGE_SIZE, records.length);
  find('tbody').replaceChildren(...records.slice(start, end).map((record) => toRow('td', kind.toCells(record))));
  find('section nav span').textContent = `${format(start + 1)} to ${format(end)} of ${format(records.length)}`;
  previous.disabled = start === 0;
  next.disabled = end === records.length;
}

/** Reads a JSON response. @throws an AbortError, or an error whose message is for the user */
async function read(path, options) {
  const response = await fetch(path, options).catch((error) => explain(error, 'The dashboard does not respond.'));
  if (response.ok) {
    const body = await response
      .json()
      .catch((error) => explain(error, 'The response ended early. Try again, or choose a shorter range.'));
    options.signal.throwIfAborted();
    return body;
  }
  const { error, errors } = Object(await response.json().catch(() => undefined));
  options.signal.throwIfAborted();
  if (typeof error === 'string') throw new Error(error);
  if (Array.isArray(errors)) throw new Error(errors.map(({ path, message }) => `${path}: ${message}`).join('; '));
  // The backend sends `error` or `errors`, so this response is from a proxy.
  throw new Error(`The dashboard responds with status ${response.status}. Try again later.`);
}

function explain(error, message) {
  throw error.name === 'AbortError' ? error : new Error(message);
}

function toRow(tag, contents) {
  const row = document.createElement('tr');
  for (const content of contents) {
    const cell = row.appendChild(document.createElement(tag));
    // A field that is missing or malformed in the stored record is null.
    cell.append(...[content ?? '–'].flat());
  }
  return row;
}

/** Creates a link to an invoice, or returns its name if the stored address is not an HTTP or HTTPS URL, for example a `javascript:` URL. */
function toLink({ name, url }) {
  if (!/^https?:\/\//i.test(url)) return name;
  return Object.assign(document.createElement('a'), {
    href: url,
    textContent: name,
    target: '_blank',
    rel: 'noreferrer',
  });
}

function setMessages({ status = '', alert = '' }) {
  find('[role=status]').textContent = status;
  find('[role=alert]').textContent = alert;
}

function showError(error) {
  // A newer read has aborted this one.
  if (error.name === 'AbortError') return;
  setMessages({ alert: error.message });
}

const toDay = (ms) => new Date(ms).toISOString().slice(0, 10);
const format = (number) => number.toLocaleString('en');

kind.addEventListener('change', showStatuses);
form.addEventListener('input', () => to.setCustomValidity(from.value > to.value ? 'To is before From.' : ''));
form.addEventListener('submit', (event) => {
  event.preventDefault();
  showRecords().catch(showError);
});
previous.addEventListener('click', () => showRows(shown.start - PAGE_SIZE));
next.addEventListener('click', () => showRows(shown.start + PAGE_SIZE));
prepare().catch(showError);
