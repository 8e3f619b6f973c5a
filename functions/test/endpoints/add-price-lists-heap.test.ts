import * as v8 from 'node:v8';
import { startTestService, type TestService } from '../support/service';
import { createPriceListBody } from '../support/submissions';

let service: TestService;

jest.mock('node:v8', () => ({ ...jest.requireActual<typeof v8>('node:v8'), setFlagsFromString: jest.fn() }));

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.close());

test('bounds the growth of the heap with the first request, and not while modules load', async () => {
  const setFlags = jest.mocked(v8.setFlagsFromString);
  expect(setFlags).not.toHaveBeenCalled();
  for (let request = 0; request < 2; request += 1) {
    expect((await service.call('addPriceLists', { json: createPriceListBody(1) })).status).toBe(200);
  }
  expect(setFlags.mock.calls).toEqual([['--semi-space-growth-factor=1'], ['--heap-growing-percent=20']]);
});
