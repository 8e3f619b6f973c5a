/** Shows /openapi.json in Swagger UI, with this host as its server, the host's own key, and a link to its guide. */

const { SwaggerUIBundle, document, location, matchMedia } = globalThis;

const spec = await (await fetch('/openapi.json')).json();
const [local] = spec.servers;
spec.servers = [{ ...local, url: location.origin + new URL(local.url).pathname }];
spec.externalDocs.url = `/docs/${spec.externalDocs.url}`;

const content = document.getElementById('content');
const { apiKey } = content.dataset;

/** Swagger UI is dark in an element of this class. */
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
