/*
 * Reads the warehouses from the service itself, which must allow the origin of this page. Pages can call no other operation.
 * The page needs no backend. Its user types the API key, and so can do everything that the key allows.
 */
const { document, location } = globalThis;
const find = (selector) => document.querySelector(selector);

/** @throws an error whose message is for the user */
async function readWarehouses({ base, key }) {
  const response = await fetch(`${base.value}/getWarehouses`, { headers: { 'x-api-key': key.value } }).catch(() => {
    // The browser writes the reason to its console and does not tell it to the page.
    throw new Error(
      'This page got no response. Check the base address. If the console of the browser names the CORS policy, ' +
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
