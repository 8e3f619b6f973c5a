/** Shows /openapi.json with this very host as its server and the host's own key filled in. */

const { SwaggerUIBundle, document, location } = globalThis;

const spec = await (await fetch('/openapi.json')).json();
const [local] = spec.servers;
spec.servers = [{ ...local, url: location.origin + new URL(local.url).pathname }];

const { apiKey } = document.body.dataset;
const hint = apiKey ? 'The key is filled in: open an operation and press **Execute**.' : 'No key is configured here.';
spec.info.description = `${hint}\n\n${spec.info.description}`;

const reference = SwaggerUIBundle({
  domNode: document.getElementById('reference'),
  spec,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete: () => apiKey && reference.preauthorizeApiKey('apiKey', apiKey),
});
