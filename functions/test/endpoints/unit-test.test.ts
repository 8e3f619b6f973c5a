import { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import type { Socket } from 'node:net';
import { getOrdersByTeam } from '../../src/get-orders-by-team';
import { operations } from '../support/operations';
import { TEST_API_KEY, useTestService } from '../support/service';

/** A function as a unit test calls it: no server has seen the request, and the body is read. */

const service = useTestService({ getOrdersByTeam });
beforeEach(() => service.reset());

async function call(rawBody: string): Promise<{ status: number; json: unknown }> {
  const request = Object.assign(new IncomingMessage(new PassThrough() as unknown as Socket), {
    method: 'POST',
    rawBody: Buffer.from(rawBody),
    complete: true,
  });
  const headers = { 'x-api-key': TEST_API_KEY, 'content-type': 'application/json' };
  Object.assign(request.headers, headers);
  request.rawHeaders.push(...Object.entries(headers).flat());
  const response = new ServerResponse(request);
  const sent: Buffer[] = [];
  response.assignSocket(new PassThrough().on('data', (bytes: Buffer) => sent.push(bytes)) as unknown as Socket);
  const finished = new Promise((resolve) => response.on('finish', resolve));
  await getOrdersByTeam(request as never, response as never);
  await finished;
  const text = Buffer.concat(sent).toString();
  return { status: response.statusCode, json: JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) };
}

test('a function that no server has called responds from the body that was read', async () => {
  await service.db.doc('orders/order-1').set({ team_id: 'team-1', created_at: Date.UTC(2026, 0, 5) });
  const { body } = operations.getOrdersByTeam;
  expect(await call(JSON.stringify(body))).toMatchObject({ status: 200, json: { count: 1 } });
  expect(await call('{')).toMatchObject({ status: 400, json: { errors: [{ path: 'body' }] } });
});
