import { styleText } from 'node:util';
import { parseApiKeys } from '../../functions/src/lib/api-keys';
import { readSampleBodies } from '../sample';
import type { FunctionsServer } from './functions-server';
import type { LocalConfig } from './local-config';

interface StartupInfo {
  config: LocalConfig;
  functions: FunctionsServer;
  firestoreAddress: string;
  /** The number of sample records that were written. */
  seeded: number;
}

/** Returns the addresses and settings, one per line. */
export function formatFacts({ config, functions, firestoreAddress, seeded }: StartupInfo): string {
  const { firestore, apiKey, corsAllowedOrigins } = config;
  const { keys, plainKeys } = parseApiKeys(apiKey);
  const data =
    typeof firestore === 'string'
      ? 'not embedded'
      : firestore.dataDir === ':memory:'
        ? 'data in memory only'
        : `data in ${firestore.dataDir}`;
  const facts = {
    Functions: `${functions.origin} (open it in a browser to try each operation)`,
    Data: `${functions.origin}/data (open it in a browser to see what is stored)`,
    Firestore: [firestoreAddress, data, ...describeSampleData(config, seeded)].join(', '),
    'API key': plainKeys.join(', ') || keys.map(({ name }) => name).join(', ') || 'not configured: calls return 500',
    Origins: corsAllowedOrigins || 'none',
  };
  const labelled = Object.entries(facts).map(([label, fact]) => `  ${dim(label.padEnd(9))}  ${fact}`);
  return ['', ...labelled, ''].join('\n');
}

function describeSampleData({ sampleData }: LocalConfig, seeded: number): string[] {
  if (!sampleData) return [];
  return [seeded > 0 ? `${seeded} sample records added` : 'no sample records added, because the database has data'];
}

/**
 * Returns a curl command for each operation. The message has these commands before the facts, so that the facts stay visible in a
 * terminal of 24 lines.
 */
export function formatCalls(apiKey: string, addresses: ReadonlyMap<string, string>): string {
  const calls = Object.entries(readSampleBodies()).flatMap(([name, body]) => {
    const address = addresses.get(name);
    return address === undefined ? [] : [curl(address, parseApiKeys(apiKey).plainKeys[0] ?? '', body)];
  });
  return calls.join('\n\n');
}

function curl(address: string, key: string, body: string | undefined): string {
  const json = body === undefined ? [] : ['-H', quoted('Content-Type: application/json'), '-d', quoted(body)];
  // A response has no line break at its end, so the shell's next prompt would be on the same line.
  return ['curl', '-w', quoted('\\n'), '-H', quoted(`x-api-key: ${key}`), ...json, address].join(' ');
}

/** Quotes a text as one word of a shell's command line. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const dim = (text: string) => styleText('dim', text);
