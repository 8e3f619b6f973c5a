/*
 * Reads the warehouses from the service itself, which must allow the origin of this page. Pages can call no other operation.
 * The page needs no backend. Its user types the API key, and so can do everything that the API key allows.
 */
const { document, location } = globalThis;
const find = (selector) => document.querySelector(selector);

/** @throws an error whose message is for the user */
async function readWarehouses({ base, key }) {
  const url = `${base.value.replace(/(?<!\/)\/+$/, '')}/getWarehouses`;
  const response = await fetch(url, { headers: { 'x-api-key': key.value } }).catch(() => {
    // The browser does not tell the page the reason. A 429 of the platform has no CORS headers, so it also ends here.
    throw new Error(
      'This page got no response. Check the base address. If the network tab of the browser shows status 429, the ' +
        'service is busy: try again later. Otherwise, if the console names the CORS policy, ' +
        `ask support to allow the origin ${location.origin}`,
    );
  });
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  const requestId = response.headers.get('X-Request-Id');
  throw new Error(`${response.status} ${body.error ?? ''} (X-Request-Id: ${requestId})`);
}

function showWarehouses({ warehouses, count }) {
  const rows = Object.entries(warehouses).map(([id, { name, country_iso }]) => {
    const row = document.createElement('tr');
    // A field that is missing or malformed in the stored record is null.
    for (const text of [id, name, country_iso]) row.insertCell().textContent = text ?? '–';
    return row;
  });
  find('tbody').replaceChildren(...rows);
  find('section').hidden = false;
  find('[role=status]').textContent = `${count} warehouses`;
}

find('form').addEventListener('submit', (event) => {
  event.preventDefault();
  find('section').hidden = true;
  find('[role=status]').textContent = 'Reading …';
  find('[role=alert]').textContent = '';
  readWarehouses(event.target.elements).then(showWarehouses, ({ message }) => {
    find('[role=status]').textContent = '';
    find('[role=alert]').textContent = message;
  });
});
