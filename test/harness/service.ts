import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { http, type HttpFunction } from '@google-cloud/functions-framework';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import { Firestore } from 'firebase-admin/firestore';
import type { HttpsFunction } from 'firebase-functions/v2/https';
import { takeConsoleLines } from './console';
import { startInstance } from '../../functions/src/lib/instance/start';
import { assertConforms } from '../../deploy/verify/conformance';
import type { ReceivedResponse } from '../../dev/run/received-response';
import { TEST_PROJECT, recordCalls, startTestFirestore, useFirestoreEmulator } from './firestore';
import { sendRequest, type RequestSpec } from '../../dev/run/http';
import { createLogLeakDetector } from './leaks';
import { operationNames, operations, type OperationName } from '../../dev/run/operations';

export const TEST_API_KEY = 'test-key-1';

/** An origin whose pages may call get warehouses. */
export const TEST_ORIGIN = 'https://dashboard.example.com';

const TEST_CONFIG = {
  API_KEY: TEST_API_KEY,
  CORS_ALLOWED_ORIGINS: `${TEST_ORIGIN}, https://other.example.com`,
  WRITES_PAUSED: 'false',
};

type Settings = { [Name in keyof typeof TEST_CONFIG]: string | undefined };

/** A request to an operation, without a body unless the test gives one. An omitted method and omitted headers get valid values. */
export interface TestRequest {
  method?: string;
  /** Headers that add to a valid API key and the content type of a body, or replace them. Undefined removes a header. */
  headers?: Record<string, string | string[] | undefined>;
  /** The body as it is sent. A test does not set both this and `json`. */
  body?: RequestSpec['body'];
  json?: unknown;
}

/**
 * The operations that a suite can call. Each suite imports them itself, because `--findRelatedTests` skips a suite that does not
 * import a changed operation.
 */
type ServedFunctions = Partial<Record<OperationName, HttpsFunction>>;

/** The functions of a suite behind the HTTP layer of the Functions Framework, with the Firestore of the tests. */
export type TestService = Awaited<ReturnType<typeof startTestService>>['service'];

export type LogLine = Record<string, unknown>;

/**
 * Serves functions to the tests of a file, from before the first test until after the last. Before each test, it empties
 * the database and the log, and removes faults and changed settings. The file fails if {@link createLogLeakDetector} finds
 * confidential data in the log.
 *
 * @returns the service, which is ready from the file's next `beforeAll` on
 */
export function useTestService(functions: ServedFunctions): TestService {
  const service = {} as TestService;
  let started: Awaited<ReturnType<typeof startTestService>>;
  beforeAll(async () => {
    started = await startTestService(functions);
    Object.assign(service, started.service);
  });
  beforeEach(() => started.reset());
  afterAll(() => started.close());
  return service;
}

async function startTestService(functions: ServedFunctions) {
  const firestore = await startTestFirestore();
  useFirestoreEmulator(firestore.address, TEST_PROJECT);

  const log: LogLine[] = [];
  const leaks = createLogLeakDetector();
  captureLog(log, leaks.logged);
  startInstance();
  const servers = new Map<OperationName, Server>();
  for (const name of operationNames) {
    const served = functions[name];
    if (served === undefined) continue;
    http(name, served as HttpFunction);
    const server = getTestServer(name).listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.set(name, server);
  }
  const port = (operation: OperationName) => (servers.get(operation)?.address() as AddressInfo).port;
  const service = {
    db: new Firestore({ projectId: TEST_PROJECT }),
    /** The server of this database, which can inject faults. */
    firestore,
    /** Records the calls that end from now on. */
    recordCalls: () => recordCalls(firestore),
    /** Every line that the service has logged in this test. */
    log,
    /** Returns the port of an operation, for requests that `call` cannot send. */
    port,
    /**
     * Sends a request, and returns the response. Rejects if docs/openapi.json does not describe the response, or if the connection
     * breaks before the response is complete.
     */
    call: async (operation: OperationName, request: TestRequest = {}): Promise<ReceivedResponse> => {
      const sent = toRequestSpec(operation, request);
      leaks.sent(sent.headers, sent.body);
      const response = await sendRequest(port(operation), sent);
      leaks.received(operation, response);
      assertConforms({ operation, method: sent.method }, response);
      return response;
    },
    /** Changes the service's settings until the test ends. Undefined removes a setting. */
    setConfig,
  };
  const reset = () => {
    firestore.faults.clear();
    firestore.clear();
    setConfig(TEST_CONFIG);
    log.length = 0;
  };
  const close = async () => {
    for (const server of servers.values()) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    await service.db.terminate();
    await firestore.close();
    leaks.check();
  };
  reset();
  return { service, reset, close };
}

/** Returns the request to send. It has a valid API key and, if it has a body, the content type of JSON, unless the test changes them. */
function toRequestSpec(operation: OperationName, { method, headers = {}, body, json }: TestRequest): RequestSpec {
  if (!operationNames.includes(operation)) {
    throw new Error(`docs/openapi.json lacks ${operation}, which the tests read from it. Run: npm run generate`);
  }
  const content = json === undefined ? body : JSON.stringify(json);
  const type = content === undefined ? {} : { 'content-type': 'application/json' };
  const all: NonNullable<TestRequest['headers']> = { 'x-api-key': TEST_API_KEY, ...type, ...headers };
  return {
    method: method ?? operations[operation].method,
    headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
    ...(content === undefined ? {} : { body: content }),
  };
}

function setConfig(settings: Partial<Settings>): void {
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = value;
  }
}

/** Keeps the service's log lines. Anything else is printed. */
function captureLog(log: LogLine[], onText: (text: string) => void): void {
  takeConsoleLines((values) => {
    onText(values.map(String).join(' '));
    const line = parsed(values[0]);
    if (line !== undefined) log.push(line);
    return line !== undefined;
  });
}

function parsed(text: unknown): LogLine | undefined {
  if (typeof text !== 'string' || !text.startsWith('{')) return undefined;
  const line = JSON.parse(text) as LogLine;
  return 'severity' in line ? line : undefined;
}
