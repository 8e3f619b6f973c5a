import type { Request, Response } from '@google-cloud/functions-framework';
import type { Domain } from 'node:domain';
import * as sdk from './sdk';

/**
 * The SDK baseline outside the `node:domain` in which the Functions Framework runs a handler. The domain's hooks run for every
 * promise, and multiply the processor time of a query; this variant tells that cost from the SDK's own.
 */
export const getOrdersByTeam = (request: Request, response: Response): Promise<void> => {
  const { domain } = process as { domain?: Domain | null };
  domain?.exit();
  return sdk.getOrdersByTeam(request, response);
};
