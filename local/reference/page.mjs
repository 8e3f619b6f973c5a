/** Shows /openapi.json with this very host as its server and the host's own key filled in. */

const { SwaggerUIBundle, document, location, matchMedia } = globalThis;

const spec = await (await fetch('/openapi.json')).json();
const [local] = spec.servers;
spec.servers = [{ ...local, url: location.origin + new URL(local.url).pathname }];

const { apiKey } = document.body.dataset;
const hint = apiKey ? 'The key is filled in: open an operation and press **Execute**.' : 'No key is configured here.';
const guides = {
  'getting started': 'getting-started',
  'integration guide': 'integration-guide',
  'runbook for operators': 'runbook',
  all: 'README',
};
const links = Object.entries(guides).map(([text, name]) => `[${text}](/docs/${name}.md)`);
const [introduction, limits] = spec.info.description.split(/(?=^## Limits$)/m);
spec.info.description = `${hint}\n\nGuides: ${links.join(' · ')}\n\n${introduction}`;

// A preflight is sent by browsers alone: its operation's description explains it.
for (const path of Object.values(spec.paths)) delete path.options;

/** The limits, which the description begins with in its text, after the operations. */
const limitsLast = ({ React, getComponent }) => ({
  wrapComponents: {
    operations: (Operations) => (props) =>
      React.createElement(
        'div',
        null,
        React.createElement(Operations, props),
        React.createElement(
          'div',
          { className: 'limits' },
          React.createElement(getComponent('Markdown', true), { source: limits }),
        ),
      ),
  },
});

/** Swagger UI is dark in an element of this class. */
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const applyColorScheme = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches);
prefersDark.addEventListener('change', applyColorScheme);
applyColorScheme();

const reference = SwaggerUIBundle({
  domNode: document.getElementById('reference'),
  spec,
  plugins: [limitsLast],
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete: () => apiKey && reference.preauthorizeApiKey('apiKey', apiKey),
});
