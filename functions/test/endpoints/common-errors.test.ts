import { operationNames } from '../support/operations';
import { describeCommonErrors } from '../support/common-errors';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
beforeEach(() => service.reset());
afterAll(() => service.close());

describe.each(operationNames)('%s returns', (name) => describeCommonErrors(name, () => service));
