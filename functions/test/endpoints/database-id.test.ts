import { Firestore } from 'firebase-admin/firestore';
import * as functions from '../../src';
import { runCommand } from '../../../test/harness/command';
import { TEST_PROJECT } from '../../../test/harness/firestore';
import { createPriceListBody } from '../../../test/harness/submissions';
import { useTestService } from '../../../test/harness/service';

/** Tests the service and the command in a database other than `(default)`, as after a restore. */

const service = useTestService(functions);
let restored: Firestore;

beforeAll(() => {
  restored = new Firestore({ projectId: TEST_PROJECT, databaseId: 'restored' });
});
beforeEach(async () => {
  jest.replaceProperty(process, 'env', { ...process.env, DATABASE_ID: 'restored' });
  await service.db.doc('teams/live').set({ name: 'Live', country_iso: 'ken' });
  await restored.doc('teams/restored').set({ name: 'Restored', country_iso: 'ken' });
  await restored.doc('markets/market-1').set({ name: { en: 'Kenya' }, country_iso: 'ken', currency_iso: 'kes' });
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => restored.terminate());

test('a read reads the database that DATABASE_ID names', async () => {
  expect((await service.call('getTeams')).json).toEqual({
    count: 1,
    teams: { restored: { name: 'Restored', country_iso: 'KEN' } },
  });
});

test('add price lists writes only to the database of DATABASE_ID, and the command finds the key by DATABASE_ID or --database', async () => {
  const body = createPriceListBody(3);
  expect((await service.call('addPriceLists', { json: body })).status).toBe(200);
  const collections = async (db: Firestore) => (await db.listCollections()).map(({ id }) => id).sort();
  expect(await collections(service.db)).toEqual(['teams']);
  expect(await collections(restored)).toContain('price_list_idempotency');

  const show = ['show', body.info.boq_list_id, '--json'];
  const byVariable = await runCommand(...show);
  expect(byVariable).toMatchObject({ code: 0, err: expect.stringContaining(', database restored, ') as string });
  expect((await runCommand(...show, '--database', 'restored')).out).toBe(byVariable.out);
  expect((await runCommand(...show, '--database', '(default)')).code).toBe(1);
  expect((await runCommand('audit', '--full', '--database', 'restored')).code).toBe(0);
});
