/**
 * Shows /openapi.json in Swagger UI, with the address and API key of this server, and with a link to /docs/api.md. The headers that most
 * responses share are in one table at the top, because Swagger UI would repeat them below each response.
 */

const { SwaggerUIBundle, document, location, matchMedia } = globalThis;

const spec = await (await fetch('/openapi.json')).json();
const [local] = spec.servers;
spec.servers = [{ ...local, url: location.origin + new URL(local.url).pathname }];
spec.externalDocs.url = `/docs/${spec.externalDocs.url}`;

const operations = Object.values(spec.paths).flatMap((path) => Object.values(path));
const responses = operations.flatMap((operation) => Object.values(operation.responses)).map(resolve);
const shared = Object.entries(spec.components.headers).filter(
  ([name]) => responses.filter(({ headers = {} }) => name in headers).length > responses.length / 2,
);
for (const { headers = {} } of responses) for (const [name] of shared) Reflect.deleteProperty(headers, name);
const rows = shared.map(([name, { description }]) => `| \`${name}\` | ${description} |`);
spec.info.description += `

<details><summary>Headers of most responses</summary>

| Header | Meaning |
| --- | --- |
${rows.join('\n')}

</details>`;

function resolve(response) {
  return response.$ref === undefined ? response : spec.components.responses[response.$ref.split('/').at(-1)];
}

const content = document.getElementById('content');
const { apiKey } = content.dataset;

/** Swagger UI is dark in an element of the class `dark-mode`. */
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const applyColorScheme = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches);
prefersDark.addEventListener('change', applyColorScheme);
applyColorScheme();

const reference = SwaggerUIBundle({
  domNode: content,
  spec,
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete: () => apiKey && reference.preauthorizeApiKey('apiKey', apiKey),
});
