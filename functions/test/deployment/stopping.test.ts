import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { openRequest } from '../../../dev/run/http';
import { isEntries } from '../../../test/harness/commits';
import {
  DEPLOYED_HEADERS,
  getLogged,
  sendTo,
  startDeployedPackage,
  type DeployedPackage,
} from '../../../test/harness/deployed-package';
import { AFTER_NEXT_SWEEP } from '../../../test/harness/price-lists';
import { createPriceListBody } from '../../../test/harness/submissions';
import { waitFor, waitUntilFired } from '../../../test/harness/wait-for';
/** Tests how open requests end after SIGTERM, which the platform sends 10 s before SIGKILL, and what an instance logs at its end. */

/** Adds a test with its own Firestore. These tests run concurrently, because they mostly wait. */
const testInWorld = (title: string, run: (world: DeployedPackage) => Promise<void>) =>
  test.concurrent(
    title,
    async () => {
      const world = await startDeployedPackage();
      await run(world);
      await world.close();
    },
    300_000,
  );

const readStatuses = async ({ db }: DeployedPackage, collection: string) =>
  (await db.collection(collection).get()).docs.map((document) => document.get('status') as unknown);

testInWorld(
  'a creation that completes within 5 s after SIGTERM gets a 200, and one whose body arrives after SIGTERM gets a 500 and claims nothing',
  async (world) => {
    const deployed = await world.start('addPriceLists');
    const held = world.firestore.faults.inject({
      rpc: 'Commit',
      match: isEntries,
      action: { kind: 'delay', ms: 1_000 },
    });
    const response = sendTo(deployed, 'addPriceLists', createPriceListBody(2));
    await waitUntilFired(held, response);
    const late = JSON.stringify(createPriceListBody(2, { boq_list_id: 'late' }));
    const socket = connect(deployed.port, '127.0.0.1');
    const head = Object.entries({ ...DEPLOYED_HEADERS, 'content-length': late.length }).map((header) =>
      header.join(': '),
    );
    await new Promise((resolve) =>
      socket.write(['POST / HTTP/1.1', 'host: service', ...head, ''].join('\r\n'), resolve),
    );
    await sendTo(deployed, 'addPriceLists', {});
    const exitCode = deployed.stop();
    await waitFor(() => getLogged(deployed, 'instance_stopping').length > 0);
    socket.write(`\r\n${late}`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 500 .*\r\nConnection: close\r\n/s);
    expect(await response).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(await exitCode).toBe(0);
    expect(await readStatuses(world, 'price_list_idempotency')).toEqual(['completed']);
  },
);

testInWorld(
  'a creation that is still in progress 5 s after SIGTERM fails with a response, failed lists and a key that can be resumed',
  async (world) => {
    const deployed = await world.start('addPriceLists');
    const action = { kind: 'hang' } as const;
    const entries = world.firestore.faults.inject({
      rpc: 'Commit',
      nth: 3,
      times: Infinity,
      match: isEntries,
      action,
    });
    const response = sendTo(deployed, 'addPriceLists', createPriceListBody(2_000));
    await waitUntilFired(entries, response);
    const startedAt = performance.now();
    const exitCode = deployed.stop();

    const { status, headers, json: body } = await response;
    const tookMs = performance.now() - startedAt;
    expect([status, headers.connection, headers['retry-after']]).toEqual([500, 'close', AFTER_NEXT_SWEEP]);
    expect(body).toEqual({ error: expect.any(String) as string });
    expect(tookMs).toBeGreaterThan(4_900);
    expect(tookMs).toBeLessThan(8_000);
    expect(await exitCode).toBe(0);
    expect(getLogged(deployed, 'request')).toMatchObject([{ operation: 'addPriceLists', status: 500 }]);
    expect(getLogged(deployed, 'price_list_failed')).toMatchObject([
      { reason: expect.stringContaining('instance is stopping') as string },
    ]);
    expect(getLogged(deployed, 'instance_stopped')).toMatchObject([{ unanswered: 0 }]);
    expect(await readStatuses(world, 'price_lists')).toEqual(['failed']);
    expect(await readStatuses(world, 'expected_forward_costs')).toEqual(['failed']);
    expect(await readStatuses(world, 'price_list_idempotency')).toEqual(['requires_review']);
  },
);

testInWorld('a hanging creation fails after SIGTERM and is logged, even if its client has left', async (world) => {
  const deployed = await world.start('addPriceLists');
  const action = { kind: 'hang' } as const;
  const entries = world.firestore.faults.inject({ rpc: 'Commit', match: isEntries, times: Infinity, action });
  const { request, response } = openRequest(deployed.port, { method: 'POST', headers: DEPLOYED_HEADERS });
  request.end(JSON.stringify(createPriceListBody(2)));
  await waitUntilFired(entries, response);
  request.destroy();
  await expect(response).rejects.toThrow('socket hang up');
  expect(await deployed.stop()).toBe(0);
  expect(getLogged(deployed, 'price_list_failed')).toMatchObject([
    { reason: expect.stringContaining('instance is stopping') as string },
  ]);
  expect(getLogged(deployed, 'request')).toMatchObject([{ operation: 'addPriceLists', client_gone: true }]);
  expect(await readStatuses(world, 'price_list_idempotency')).toEqual(['requires_review']);
});

testInWorld('a read that hangs gets a 500 about 8 s after SIGTERM', async (world) => {
  const deployed = await world.start('getTeams');
  const hanging = world.firestore.faults.inject({ rpc: 'RunQuery', times: Infinity, action: { kind: 'hang' } });
  const response = sendTo(deployed, 'getTeams');
  await hanging.fired;
  const startedAt = performance.now();
  const exitCode = deployed.stop();
  expect(await response).toMatchObject({ status: 500, headers: { connection: 'close' } });
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeGreaterThan(7_900);
  expect(tookMs).toBeLessThan(9_000);
  expect(await exitCode).toBe(0);
});

testInWorld('an instance that an error ends logs its exit code, and an idle instance logs its stop', async (world) => {
  const preload = "process.on('SIGUSR2', () => { throw new Error('nothing handles this'); });";
  const dying = await world.start('getTeams', {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}`,
  });
  process.kill(dying.pid, 'SIGUSR2');
  await waitFor(() => !dying.alive());
  expect(getLogged(dying, 'instance_stopped')).toMatchObject([{ severity: 'ERROR', exit_code: 16 }]);

  const idle = await world.start('getTeams');
  expect(await idle.stop()).toBe(0);
  expect(getLogged(idle, 'instance_stopped')).toMatchObject([{ severity: 'INFO', exit_code: 0, unanswered: 0 }]);
});
