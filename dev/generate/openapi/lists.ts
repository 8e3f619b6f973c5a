import { readFileSync } from 'node:fs';
import { getOperations, type Operation } from './operations';

/** Generates the lists of operations in pages that are otherwise written by hand, and an uptime check for each operation. */

const operations = getOperations();

const README = 'README.md';
const TABLE = /(?<=<!-- operations -->\n\n).*?(?=\n\n)/s;

const DEPLOYMENT = 'docs/deployment.md';
const SERVICES = /(?<=for service in \{).*(?=\})/;

/** @returns the texts of the files, by path */
export function generateLists(): Record<string, string> {
  const checks = operations.map((operation) => [
    `deploy/monitoring/uptime/${operation.name}.json`,
    `${JSON.stringify(createUptimeCheck(operation), null, 2)}\n`,
  ]);
  const services = operations.map(({ name }) => name.toLowerCase()).sort();
  return {
    ...(Object.fromEntries(checks) as Record<string, string>),
    [README]: readFileSync(README, 'utf8').replace(TABLE, drawTable()),
    [DEPLOYMENT]: readFileSync(DEPLOYMENT, 'utf8').replace(SERVICES, services.join()),
  };
}

/** Creates a check without an API key. A 401 shows that the function responds and that API keys are configured. */
function createUptimeCheck({ name, info: { method } }: Operation): object {
  const content = { contentType: 'USER_PROVIDED', customContentType: 'application/json', body: btoa('{}') };
  return {
    displayName: `${name} answers`,
    monitoredResource: {
      type: 'uptime_url',
      labels: { project_id: 'your-project', host: 'us-central1-your-project.cloudfunctions.net' },
    },
    httpCheck: {
      requestMethod: method,
      useSsl: true,
      validateSsl: true,
      port: 443,
      path: `/${name}`,
      ...(method === 'POST' ? content : {}),
      acceptedResponseStatusCodes: [{ statusValue: 401 }],
    },
    contentMatchers: [{ content: 'Unauthorized', matcher: 'CONTAINS_STRING' }],
    period: '300s',
    timeout: '10s',
    selectedRegions: ['USA_OREGON', 'EUROPE', 'ASIA_PACIFIC'],
  };
}

/** Draws the table of the operations as Prettier formats it. */
function drawTable(): string {
  const rows = operations.map(({ name, summary, info: { method }, response }) => [
    `[${summary}](docs/api.md#${summary.toLowerCase().replaceAll(' ', '-')})`,
    `${method} \`/${name}\``,
    `${response.description.split('. ')[0]?.replace(/\.$/, '') ?? ''}.`,
  ]);
  const head = ['Operation', 'Method and path', '200'];
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const toLine = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [head, widths.map((width) => '-'.repeat(width)), ...rows].map(toLine).join('\n');
}
