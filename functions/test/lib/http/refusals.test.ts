import { operationNames } from '../../support/operations';
import { refusesAlike } from '../../support/refusals';
import { startService, type Service } from '../../support/service';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
beforeEach(() => service.reset());
afterAll(() => service.close());

describe.each(operationNames)('%s answers', (name) => refusesAlike(name, () => service));
