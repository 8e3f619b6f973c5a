import { globSync, readFileSync } from 'node:fs';
import * as functions from '../../functions/src';
import { getOperations, type Operation } from './operations';

/** Generates the lists of operations in files that are otherwise written by hand, and an uptime check for each operation. */

const operations = getOperations();

/** Returns the names of functions as Cloud Run spells them, sorted. */
const toServices = (names: string[]): string[] => names.map((name) => name.toLowerCase()).sort();

const all = toServices(Object.keys(functions));
const https = toServices(operations.map(({ name }) => name));
const reads = toServices(operations.flatMap(({ name, info }) => (info.writes ? [] : [name])));

/** A list of names in a filter of Monitoring, a filter of Logging, or the braces of a shell. */
const NAMES = /[a-z]+(?:(\\",\\"|\\" OR \\"|,)[a-z]+)+/g;

const README = 'README.md';
const TABLE = /(?<=<!-- operations -->\n\n).*?(?=\n\n)/s;

/** @returns the texts of the files, by path */
export function generateLists(): Record<string, string> {
  const files = ['docs/deployment.md', ...globSync('docs/monitoring/{*,metrics/*,alerts/*}.json')];
  const listing = files.map((file) => [file, readFileSync(file, 'utf8').replace(NAMES, replaceNames)] as const);
  const checks = operations.map((operation) => [
    `docs/monitoring/uptime/${operation.name}.json`,
    `${JSON.stringify(createUptimeCheck(operation), null, 2)}\n`,
  ]);
  const readme = readFileSync(README, 'utf8').replace(TABLE, drawTable());
  return Object.fromEntries([...listing, ...checks, [README, readme]]) as Record<string, string>;
}

/** Replaces a list with the current one of its kind: all functions, the operations, or the reads. Keeps a list without a read. */
function replaceNames(list: string, separator: string): string {
  const names = list.split(separator);
  if (!names.some((name) => reads.includes(name))) return list;
  const isSweep = (name: string) => all.includes(name) && !https.includes(name);
  const isWrite = (name: string) => https.includes(name) && !reads.includes(name);
  return (names.some(isSweep) ? all : names.some(isWrite) ? https : reads).join(separator);
}

/** Creates a check without an API key. Its 401 shows that the function responds and that its API keys are configured. */
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
