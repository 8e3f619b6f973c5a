import { decodeResponse, encodeRequest, type Json, type JsonObject, type Transport } from './protocol';

/**
 * One call of a sequence. Strings in its request may refer to the sequence's database and to earlier answers:
 *
 *   $db            the name of the database, at the start of a resource name
 *   $tx:3          the transaction of answer 3
 *   $token:3       the page token of answer 3
 *   $time:3        the update time of answer 3, and $time:3+1 one microsecond later, as a Timestamp
 *   $read:3        the read time of answer 3, as a Timestamp
 *   $ago:3         three minutes ago, as a Timestamp
 */
export interface Operation {
  readonly rpc: string;
  readonly request: JsonObject;
  /** The request's bytes in base64, where no message of the protocol has them; `request` says what they mean. */
  readonly bytes?: string;
  /** When the client gives up, in milliseconds. */
  readonly deadlineMs?: number;
  /** Only ends what an earlier call may have left open: its answer is not compared. */
  readonly quiet?: boolean;
}

/** An answer without what differs from run to run: its status, or its messages. */
export interface Answer {
  readonly code: number;
  /** Its text, for a status other than OK. */
  readonly message?: string;
  readonly result?: Json;
}

/** The messages of an answer as they came. */
type Received = readonly JsonObject[];

/** Runs a sequence against a database of its own, call after call. */
export async function runSequence(
  transport: Transport,
  database: string,
  operations: readonly Operation[],
): Promise<Answer[]> {
  const received: Received[] = [];
  const normalizer = new Normalizer(database);
  const answers: Answer[] = [];
  for (const { rpc, request, bytes, deadlineMs, quiet } of operations) {
    const resolved = resolve(request, database, received) as JsonObject;
    const encoded = bytes === undefined ? encodeRequest(rpc, resolved) : Buffer.from(bytes, 'base64');
    const raw = await transport.call(rpc, encoded, deadlineMs);
    const messages = raw.messages.map((message) => decodeResponse(rpc, message));
    received.push(messages);
    answers.push(
      quiet
        ? { code: 0 }
        : raw.code === 0
          ? { code: 0, result: normalizer.normalize(rpc, messages, answers.length) }
          : { code: raw.code, message: normalizer.normalizeText(raw.message) },
    );
  }
  return answers;
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every value under a key, at any depth. */
function findAll(value: Json | undefined, key: string): Json[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => findAll(item, key));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, child]) =>
    name === key && child !== undefined ? [child] : findAll(child, key),
  );
}

/** A transaction, a token and a time that no server has given out. */
const UNKNOWN_TRANSACTION = Buffer.from('unknown transaction').toString('base64');
const UNKNOWN_TOKEN = 'unknown';
const UNKNOWN_TIME = { seconds: '1000000000', nanos: 0 };

function resolve(value: Json | undefined, database: string, received: readonly Received[]): Json | undefined {
  if (typeof value === 'string') return value.startsWith('$') ? resolveText(value, database, received) : value;
  if (Array.isArray(value)) return value.map((item: Json) => resolve(item, database, received) ?? null);
  if (!isObject(value)) return value;
  const resolved: Record<string, Json | undefined> = {};
  for (const key in value) resolved[key] = resolve(value[key], database, received);
  return resolved;
}

function resolveText(text: string, database: string, received: readonly Received[]): Json {
  if (text.startsWith('$db')) return database + text.slice('$db'.length);
  const [, kind, index, plus = 0] = /^\$(tx|token|time|read|ago):(\d+)(?:\+(\d+))?$/.exec(text) ?? [];
  const find = (key: string): Json | undefined => findAll(received[Number(index)], key).at(-1);
  switch (kind) {
    case 'tx':
      return find('transaction') ?? UNKNOWN_TRANSACTION;
    case 'token':
      return find('nextPageToken') ?? UNKNOWN_TOKEN;
    case 'time':
    case 'read':
      return addMicros(toTimestamp(find(`${kind === 'time' ? 'update' : kind}Time`) ?? UNKNOWN_TIME), Number(plus));
    case 'ago':
      return { seconds: String(Math.floor(Date.now() / 1000) - 60 * Number(index)), nanos: 0 };
    default:
      return text;
  }
}

interface Timestamp extends JsonObject {
  readonly seconds: string;
  readonly nanos: number;
}

const toTimestamp = (time: Json): Timestamp => {
  const { seconds = '0', nanos = 0 } = time as Partial<Timestamp>;
  return { seconds, nanos };
};

const addMicros = ({ seconds, nanos }: Timestamp, micros: number): Timestamp => ({
  seconds,
  nanos: Math.min(nanos + micros * 1000, 999_999_999),
});

/** Keys of responses that say how a server works, not what it found. */
const IGNORED = new Set(['readTime', 'skippedResults', 'done', 'commitTime', 'streamId', 'streamToken']);
/** Keys of the times that a server gives a document. */
const VERSION_TIMES = new Set(['createTime', 'updateTime']);
/** Timestamps this near to now are server timestamps. */
const NOW_SECONDS = 3600;

/** Replaces what differs from run to run: times by the answer that they first appear in, and the database's name. */
class Normalizer {
  private readonly times = new Map<string, string>();
  private answerIndex = 0;
  private newTimes = 0;

  constructor(private readonly database: string) {}

  /** @param index the place of the answer in its sequence: a time that only one server shows changes no later name */
  normalize(rpc: string, messages: readonly JsonObject[], index: number): Json {
    this.answerIndex = index;
    this.newTimes = 0;
    const cleaned = messages.map((message) => this.clean(message, ''));
    switch (rpc) {
      case 'BatchGetDocuments':
        // In any order.
        return cleaned
          .map((message) => JSON.stringify(message))
          .sort()
          .map((text) => JSON.parse(text) as Json);
      case 'RunQuery':
        return cleaned.filter((message) => Object.keys(message as JsonObject).length > 0);
      default:
        return cleaned[0] ?? null;
    }
  }

  normalizeText(text: string): string {
    const project = this.database.split('/')[1] ?? '';
    return text.replaceAll(this.database, '$db').replaceAll(project, '$project').slice(0, 100);
  }

  private clean(value: Json | undefined, key: string): Json {
    if (typeof value === 'string') return this.cleanText(value, key);
    // JSON has no negative zero.
    if (Object.is(value, -0)) return '-0';
    // The status of each write of a batch: its text is the server's own.
    if (key === 'status') return findCodes(value as Json);
    if (Array.isArray(value)) return value.map((item: Json) => this.clean(item, ''));
    if (!isObject(value)) return value ?? null;
    if (VERSION_TIMES.has(key)) return this.nameTime(value);
    if (key === 'timestampValue' && isNow(value)) return 'now';
    if (key === 'geoPointValue') return { latitude: 0, longitude: 0, ...(this.cleanEntries(value) as JsonObject) };
    if (key === 'timestampValue') return { ...toTimestamp(value) };
    return this.cleanEntries(value);
  }

  private cleanEntries(value: JsonObject): Json {
    const entries = Object.keys(value)
      .filter((name) => !IGNORED.has(name))
      .sort()
      .map((name): [string, Json] => [name, this.clean(value[name], name)]);
    return Object.fromEntries(entries.filter(([name, child]) => !isDefault(name, child)));
  }

  private cleanText(text: string, key: string): string {
    if (key === 'transaction') return 'tx';
    if (key === 'nextPageToken') return text === '' ? '' : 'token';
    return text.startsWith(this.database) ? `$db${text.slice(this.database.length)}` : text;
  }

  private nameTime(time: JsonObject): string {
    const { seconds, nanos } = toTimestamp(time);
    const key = `${seconds}.${nanos}`;
    const known = this.times.get(key);
    if (known !== undefined) return known;
    const name = `t${this.answerIndex}.${++this.newTimes}`;
    this.times.set(key, name);
    return name;
  }
}

const findCodes = (statuses: Json): Json => (statuses as readonly JsonObject[]).map((each) => each['code'] ?? 0);

const isNow = (time: JsonObject): boolean =>
  Math.abs(Number(toTimestamp(time).seconds) - Date.now() / 1000) < NOW_SECONDS;

/** Absent and empty are the same on the wire, but for the content of a value. */
const isDefault = (name: string, value: Json): boolean =>
  (name === 'nextPageToken' && value === '') ||
  (Array.isArray(value) && value.length === 0 && name !== 'values') ||
  (name === 'fields' && isObject(value) && Object.keys(value).length === 0);
