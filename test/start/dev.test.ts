import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { REGION } from '../../functions/src/lib/region';
import { createCheckout, editFile } from '../harness/checkout';
import {
  call,
  cleanUp,
  createFirestoreClient,
  NPM_RUN_DEV,
  startLocalServer,
  temporaryFolder,
  type LocalServer,
} from '../harness/local-server';
import { waitFor } from '../harness/wait-for';

/** Tests that `npm run dev` restarts the functions when a source file is saved, and keeps the stored data. */

afterAll(cleanUp);

const ERRORS = 'functions/src/lib/errors.ts';
const TEAMS = 'functions/src/get-teams.ts';
const headers = { 'x-api-key': 'local-dev-key' };

/** Returns a number that grows by one each time the functions become ready. */
const readyTimes = ({ output }: LocalServer) => output.stdout.split('\nReady at').length;

/** Returns the address of an operation at the port of the newest start. */
const address = ({ output }: LocalServer, operation: string) => {
  const origin = [...output.stdout.matchAll(/Functions +(\S+)/g)].at(-1)?.[1] ?? '';
  return `${origin}/demo-price-lists/${REGION}/${operation}`;
};

describe('npm run dev', () => {
  const folder = createCheckout();
  let local: LocalServer;
  beforeAll(async () => {
    local = await startLocalServer({ DATA_DIR: temporaryFolder() }, NPM_RUN_DEV, folder);
  });

  /** Saves a file repeatedly until tsx notices, because tsx begins to watch the file only some time after the server is ready. */
  const reload = async (path: string, before: string, after: string) => {
    const starts = readyTimes(local);
    const { length } = local.output.stdout;
    const file = join(folder, path);
    editFile(file, before, after);
    while (!/Restarting|Rerunning/.test(local.output.stdout.slice(length))) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      utimesSync(file, new Date(), new Date());
    }
    await waitFor(() => readyTimes(local) > starts);
  };

  /** Calls get teams until it responds, because the functions restart once more if tsx has noticed two of the saves above. */
  const callTeams = (init?: RequestInit) =>
    waitFor(() => call(address(local, 'getTeams'), init).catch(() => undefined));

  test('a saved file takes effect, and the data stays', async () => {
    const db = createFirestoreClient(local.firestoreAddress);
    await db.doc('teams/team-mine').set({ name: 'Mine', country_iso: 'FRA' });
    await reload(ERRORS, "'Unauthorized'", "'Changed'");
    expect((await callTeams()).text).toBe('{"error":"Changed"}');
    expect((await callTeams({ headers })).text).toContain('team-mine');
    await db.terminate();
  });

  test('a file that does not compile, or throws while it is loaded, is reported, and the next save restarts the functions', async () => {
    const original = readFileSync(join(folder, TEAMS), 'utf8');
    editFile(join(folder, TEAMS), original, 'export const getTeams = (;');
    await waitFor(() => local.output.stderr.includes('get-teams.ts:1:25'));
    expect(local.output.stderr).not.toContain('node_modules/esbuild');
    editFile(join(folder, TEAMS), 'export const getTeams = (;', "throw new Error('not today');");
    await waitFor(() => /not today[^]*functions\/src\/get-teams\.ts:1/.test(local.output.stderr));
    await reload(TEAMS, "throw new Error('not today');", original);
    expect((await callTeams({ headers })).status).toBe(200);
  });

  test('a file that is missing at a restart restarts the functions when it comes back', async () => {
    const file = join(folder, TEAMS);
    const original = readFileSync(file, 'utf8');
    const starts = readyTimes(local);
    rmSync(file);
    await waitFor(() => local.output.stderr.includes("Cannot find module './get-teams'"));
    expect(local.output.stderr).not.toContain('MODULE_NOT_FOUND');
    writeFileSync(file, original);
    await waitFor(() => readyTimes(local) > starts);
    expect((await callTeams({ headers })).status).toBe(200);
  });

  test('Ctrl-C ends the server, and the command exits with code 0', async () => {
    const { stdout, stderr, ...exit } = await local.stop();
    expect(exit).toMatchObject({ code: 0, signal: null });
    expect(stdout + stderr).not.toContain('Previous process');
  });
});
