import { createRequestContext } from '../../src/lib/request-context';
import { createDatabase } from '../../src/lib/firestore/database';
import { assertListening, assertReadable } from '../../cli/connection';
import { resolveTarget, type Target } from '../../cli/target';
import { useTestService } from '../support/service';
import { buildCommand, runCommand, type CommandProgram } from './command';

/** The message for an operator whose command cannot reach the database, and how soon it comes. */

jest.setTimeout(120_000);

const service = useTestService({});
let command: CommandProgram;
beforeAll(async () => {
  command = await buildCommand();
});
beforeEach(() => service.reset());
afterAll(async () => {
  await command.remove();
});

/** Nothing ever listens at port 1. */
const NOWHERE = '127.0.0.1:1';
const PRODUCTION: Target = { project: 'production', address: undefined, isAddressGiven: false };

/** An error as gRPC words it. */
const RAW = /UNAVAILABLE:|ECONNREFUSED|\d+ [A-Z]+_?[A-Z]+:|    at /;

test('a local database that is not started is one sentence with the command that starts it', async () => {
  await expect(assertListening(NOWHERE, false)).rejects.toThrow(`Nothing listens at ${NOWHERE}. Run: npm start`);
});

test('nothing at the address of FIRESTORE_EMULATOR_HOST: one sentence within 2 s of a start', async () => {
  const help = command.start('--help').output.then(() => performance.now());
  const { code, out, err } = await command.startIn({ FIRESTORE_EMULATOR_HOST: NOWHERE }, 'list').output;
  const endedAt = performance.now();
  // A program takes most of a second to start, more on a busy machine. What counts is what comes on top.
  expect(endedAt - (await help)).toBeLessThan(2_000);
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain(`Nothing listens at ${NOWHERE}, the address in FIRESTORE_EMULATOR_HOST.`);
  expect(err).not.toMatch(RAW);
});

test('an address without a port is one sentence', async () => {
  const { code, err } = await command.startIn({ FIRESTORE_EMULATOR_HOST: 'localhost' }, 'list').output;
  expect([code, err]).toEqual([1, 'FIRESTORE_EMULATOR_HOST is not an address with a port: localhost\n']);
});

test('an empty FIRESTORE_EMULATOR_HOST is unset', () => {
  const given = process.env['FIRESTORE_EMULATOR_HOST'];
  process.env['FIRESTORE_EMULATOR_HOST'] = '';
  try {
    expect(resolveTarget('demo-price-lists')).toMatchObject({ address: '127.0.0.1:8080', isAddressGiven: false });
    expect(resolveTarget('production')).toMatchObject({ address: undefined });
  } finally {
    process.env['FIRESTORE_EMULATOR_HOST'] = given;
  }
});

test('production without credentials is one sentence with the command that signs in, within 15 s', async () => {
  const env = { FIRESTORE_EMULATOR_HOST: '', GOOGLE_APPLICATION_CREDENTIALS: '/nowhere.json' };
  const startedAt = performance.now();
  const { code, out, err } = await command.startIn(env, 'list', '--project', 'production').output;
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('Run: gcloud auth application-default login');
  expect(err).not.toMatch(RAW);
});

test.each([
  [7, 'PERMISSION_DENIED', 'Check --project, and the role roles/datastore.user.'],
  [5, 'NOT_FOUND', 'This project has no Firestore database. Check --project.'],
  [11, 'OUT_OF_RANGE', 'Firestore refused: because.'],
] as const)('an error %s %s of production is one sentence with what to check', async (code, name, sentence) => {
  const error = await getReadError(PRODUCTION, () =>
    Promise.reject(Object.assign(new Error(`${code} ${name}: because.`), { code })),
  );
  expect(error).toContain(sentence);
  expect(error).not.toMatch(RAW);
});

test('a database that does not respond is one sentence within 15 s, in production and locally', async () => {
  const startedAt = performance.now();
  const hang = () => new Promise<never>(() => undefined);
  const local = { ...PRODUCTION, address: NOWHERE };
  expect(await Promise.all([getReadError(PRODUCTION, hang), getReadError(local, hang)])).toEqual([
    expect.stringMatching(/^Firestore does not answer .*Check the network, --project,/),
    `What listens at ${NOWHERE} does not answer as Firestore does.`,
  ]);
  expect(performance.now() - startedAt).toBeLessThan(15_000);
});

/** @returns the message of the error of a database whose reads are `getAll` */
async function getReadError(target: Target, getAll: () => Promise<never>): Promise<string> {
  const context = createRequestContext(new AbortController().signal);
  const db = { ...createDatabase(service.db, context), getAll };
  return assertReadable(target, db, context).then(
    () => 'no error',
    (error: unknown) => (error instanceof Error ? error.message : 'not an error'),
  );
}

test('behind a proxy it reaches a local database', async () => {
  const proxy = `http://${NOWHERE}`;
  const env = { http_proxy: proxy, https_proxy: proxy, grpc_proxy: proxy, HTTP_PROXY: proxy, HTTPS_PROXY: proxy };
  const { code, out } = await command.startIn(env, 'list').output;
  expect([code, out]).toEqual([0, 'No key needs an operator.\nNo attempt is in progress.\n']);
});

test('control characters of an argument never reach the terminal', async () => {
  const { code, err } = await runCommand('\u001b[2J');
  expect([code, err]).toEqual([2, expect.stringContaining("unknown command '\\u001b[2J'")]);
});
