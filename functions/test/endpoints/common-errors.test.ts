import * as functions from '../../src';
import { operationNames, operations } from '../../../dev/run/operations';
import { TEST_API_KEY, useTestService, type TestRequest } from '../../../test/harness/service';
import { withLabels } from '../../../test/harness/validation';

/** Tests the error responses that all operations share, the order of the checks, the pause of writes, and the request id. */

const METHODS = ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'] as const;

const service = useTestService(functions);

describe.each(operationNames)('%s returns', (name) => {
  const { method, cors } = operations[name];
  const wrongMethods = METHODS.filter((each) => each !== method && !(cors && each === 'OPTIONS'));
  const valid: TestRequest = 'body' in operations[name] ? { json: operations[name].body } : {};

  const logged = () => service.log.filter(({ event }) => event === 'request');

  /** Calls the operation, and asserts that the error response cost no call to the database and was logged once, without the API key of the tests. */
  const expectRejected = async (request: TestRequest) => {
    const before = service.firestore.counts();
    const response = await service.call(name, request);
    expect(service.firestore.counts()).toEqual(before);
    expect(logged()).toMatchObject([{ operation: name, status: response.status }]);
    expect(JSON.stringify(service.log)).not.toContain(TEST_API_KEY);
    return response;
  };

  describe('405', () => {
    test.each(wrongMethods)('for %s, with the header Allow', async (wrong) => {
      const { status, headers, json } = await expectRejected({ method: wrong });
      expect(status).toBe(405);
      expect(headers.allow).toBe(method);
      expect(json).toEqual(wrong === 'HEAD' ? undefined : { error: 'Method not allowed' });
    });

    test('before it checks the API key', async () => {
      service.setConfig({ API_KEY: undefined });
      const { status } = await expectRejected({ method: 'PUT', headers: { 'x-api-key': undefined }, body: 'not JSON' });
      expect(status).toBe(405);
    });
  });

  describe('401', () => {
    test.each<[string, NonNullable<TestRequest['headers']>]>([
      ['no API key', { 'x-api-key': undefined }],
      ['another API key', { 'x-api-key': 'test-key-2' }],
      ['an API key sent twice, which Node joins into one value', { 'x-api-key': [TEST_API_KEY, TEST_API_KEY] }],
      ['an API key in another header', { 'x-api-key': undefined, authorization: `Bearer ${TEST_API_KEY}` }],
    ])('for %s', async (_, headers) => {
      const response = await expectRejected({ ...valid, headers });
      expect([response.status, response.json]).toEqual([401, { error: 'Unauthorized' }]);
      expect(response.headers['www-authenticate']).toBe('ApiKey header="x-api-key"');
    });

    test('for a wrong API key, whatever the body is', async () => {
      const { status } = await expectRejected({ headers: { 'x-api-key': 'wrong' }, body: 'not JSON' });
      expect(status).toBe(401);
    });
  });

  test('500 while no API key is configured', async () => {
    service.setConfig({ API_KEY: undefined });
    for (const key of [undefined, '', TEST_API_KEY, 'undefined']) {
      service.log.length = 0;
      const { status, json } = await expectRejected({ ...valid, headers: { 'x-api-key': key } });
      expect([status, json]).toEqual([500, { error: 'API key is not configured' }]);
    }
  });

  test(`${name === 'addPriceLists' ? '503, before it validates the body,' : 'its data'} while writes are paused`, async () => {
    service.setConfig({ WRITES_PAUSED: 'true' });
    expect((await service.call(name, { headers: { 'x-api-key': 'wrong' } })).status).toBe(401);
    if (name !== 'addPriceLists') {
      expect((await service.call(name, valid)).status).toBe(operations[name].emptyStatus);
      return;
    }
    service.log.length = 0;
    const { status, headers, json } = await expectRejected({ body: 'not JSON' });
    expect([status, headers['retry-after'], json]).toEqual([503, '300', { error: 'Price lists are paused' }]);
    expect(logged()).toMatchObject([{ severity: 'NOTICE', error_code: 'writes_paused' }]);
    expect(logged()[0]).not.toHaveProperty('stack_trace');
  });

  test('500 for an unexpected error, without internals', async () => {
    const { firestore, call } = service;
    const message = 'missing permission on projects/secret at /internal/path';
    firestore.faults.inject({
      rpc: name === 'addPriceLists' ? 'BatchGetDocuments' : 'RunQuery',
      times: Infinity,
      action: { kind: 'error', code: 'PERMISSION_DENIED', message },
    });
    const { status, text } = await call(name, valid);
    expect([status, text]).toEqual([500, '{"error":"Internal error"}']);
    expect(logged()).toMatchObject([{ severity: 'ERROR', status: 500, error_code: 'internal_error' }]);
    expect(logged()[0]?.['reason']).toContain(message);
  });

  describe('X-Request-Id', () => {
    test('that the client sent, if that id is valid', async () => {
      const { headers } = await expectRejected({ headers: { 'x-api-key': 'wrong', 'x-request-id': 'client-1.a_B' } });
      expect(headers['x-request-id']).toBe('client-1.a_B');
      expect(logged()).toMatchObject([{ request_id: 'client-1.a_B' }]);
    });

    test.each(withLabels(['', 'two words', 'a'.repeat(129)]))(
      'that it generates if the client sends %s',
      async (_, id) => {
        const { headers } = await expectRejected({ headers: { 'x-api-key': 'wrong', 'x-request-id': id } });
        expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      },
    );
  });
});
