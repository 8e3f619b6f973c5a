import * as functions from '../../src';
import { operationNames } from '../support/operations';
import { describeCommonErrors } from '../support/common-errors';
import { useTestService } from '../support/service';

const service = useTestService(functions);
beforeEach(() => service.reset());

describe.each(operationNames)('%s returns', (name) => {
  describeCommonErrors(name, service);
});
