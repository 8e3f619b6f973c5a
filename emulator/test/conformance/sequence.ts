import type { Call } from './calls';
import type { Json, JsonObject, Response, Server } from './protocol';

/** The status of a response and, if the status is OK, its messages without anything that differs from run to run. */
export interface Answer {
  readonly code: number;
  readonly result?: Json;
}

/**
 * Runs the calls of a sequence one after another on one database. Strings in a request can refer to the database, to a time in the
 * past, and to earlier responses, which are numbered from 0:
 *
 *   $db            the name of the database, at the start of a resource name
 *   $tx:3          the transaction of response 3
 *   $time:3        the update time of response 3, and $time:3+1 one microsecond later, as a Timestamp
 *   $read:3        the read time of response 3, as a Timestamp
 *   $ago:3         three minutes ago, as a Timestamp
 */
export async function runSequence(server: Server, database: string, calls: readonly Call[]): Promise<Answer[]> {
  const responses: Response[] = [];
  const times = new Map<string, string>();
  const answers: Answer[] = [];
  for (const { rpc, request } of calls) {
    const response = await server.call(rpc, resolve(request, database, responses) as JsonObject);
    responses.push(response);
    const { code, messages } = response;
    if (code !== 0) {
      answers.push({ code });
      continue;
    }
    const result = messages
      .map((message) => clean(message, '', database, times))
      .filter((message) => Object.keys(message as JsonObject).length > 0);
    // A server can return the documents of a BatchGetDocuments in any order.
    if (rpc === 'BatchGetDocuments') result.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    answers.push({ code, result });
  }
  return answers;
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Finds the last value under a key, at any depth. */
function findLast(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value))
    return value.map((item: Json) => findLast(item, key)).findLast((found) => found !== undefined);
  if (!isObject(value)) return undefined;
  return value[key] ?? findLast(Object.values(value) as Json[], key);
}

/** A transaction and a time that no server has returned. */
const UNKNOWN_TRANSACTION = Buffer.from('unknown transaction').toString('base64');
const UNKNOWN_TIME = { seconds: '1000000000', nanos: 0 };

function resolve(value: Json | undefined, database: string, responses: readonly Response[]): Json | undefined {
  if (typeof value === 'string') return value.startsWith('$') ? resolveText(value, database, responses) : value;
  if (Array.isArray(value)) return value.map((item: Json) => resolve(item, database, responses) ?? null);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, resolve(child, database, responses)]));
}

function resolveText(text: string, database: string, responses: readonly Response[]): Json {
  const [, kind, index, plus = 0] = /^\$(tx|time|read|ago):(\d+)(?:\+(\d+))?$/.exec(text) ?? [];
  const find = (key: string): Json | undefined => findLast(responses[Number(index)]?.messages, key);
  switch (kind) {
    case 'tx':
      return find('transaction') ?? UNKNOWN_TRANSACTION;
    case 'time':
    case 'read': {
      const { seconds, nanos } = toTimestamp(find(kind === 'time' ? 'updateTime' : 'readTime') ?? UNKNOWN_TIME);
      return { seconds, nanos: nanos + Number(plus) * 1000 };
    }
    case 'ago':
      return { seconds: String(Math.floor(Date.now() / 1000) - 60 * Number(index)), nanos: 0 };
    default:
      return text.replace(/^\$db/, database);
  }
}

const toTimestamp = (time: Json): { seconds: string; nanos: number } => ({
  seconds: '0',
  nanos: 0,
  ...(time as JsonObject),
});

/** Keys of responses whose values can differ between servers that behave equally. */
const IGNORED = new Set(['readTime', 'skippedResults', 'done', 'commitTime', 'message']);

/**
 * Replaces or omits what differs from run to run. Each create or update time becomes a name such as `t0`, numbered in the order of
 * first occurrence.
 */
function clean(value: Json | undefined, key: string, database: string, times: Map<string, string>): Json {
  if (typeof value === 'string') return key === 'transaction' ? '$tx' : shorten(value.replace(database, '$db'));
  // JSON.stringify would write a negative zero as 0.
  if (Object.is(value, -0)) return '-0';
  if (Array.isArray(value)) return value.map((item: Json) => clean(item, '', database, times));
  if (!isObject(value)) return value ?? null;
  if (key === 'createTime' || key === 'updateTime') return nameTime(value, times);
  if (key === 'timestampValue') return toTimestamp(value);
  const entries = Object.entries(value).filter(([name]) => !IGNORED.has(name));
  return Object.fromEntries(entries.map(([name, child]) => [name, clean(child, name, database, times)]));
}

/** Shortens long texts, to keep the recording small. */
const shorten = (text: string): string => (text.length > 100 ? `${text.slice(0, 20)}… ${text.length}` : text);

function nameTime(time: JsonObject, times: Map<string, string>): string {
  const { seconds, nanos } = toTimestamp(time);
  const text = `${seconds}.${nanos}`;
  const name = times.get(text) ?? `t${times.size}`;
  times.set(text, name);
  return name;
}
