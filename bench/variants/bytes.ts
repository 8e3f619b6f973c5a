import type { Request, Response } from '@google-cloud/functions-framework';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { Domain } from 'node:domain';
import { encodeRunQueryRequest } from '../../functions/src/lib/firestore/messages';

/** Receives the messages of a query and counts their bytes. This is the minimum cost of such a read. */

const client = new Client(process.env['FIRESTORE_EMULATOR_HOST'] ?? '', credentials.createInsecure());
const parent = `projects/${process.env['GCLOUD_PROJECT']}/databases/(default)/documents`;
/** The fields that the service reads of an order. */
const FIELDS = ['customer_data.customer_id', 'customer_data.customer_name', 'invoice_id', 'market_id', 'team_id'];
const passThrough = (message: Buffer) => message;

export const getOrdersByTeam = (request: Request, response: Response): void => {
  const { domain } = process as { domain?: Domain | null };
  domain?.exit();
  const { team_id } = request.body as { team_id: string };
  const headers = new Metadata();
  headers.set('authorization', 'Bearer owner');
  const call = client.makeServerStreamRequest(
    '/google.firestore.v1.Firestore/RunQuery',
    passThrough,
    passThrough,
    encodeRunQueryRequest(parent, { collection: 'orders', where: [['team_id', '==', team_id]], fields: FIELDS }),
    headers,
  );
  let bytes = 0;
  call.on('data', (message: Buffer) => (bytes += message.length));
  call.on('error', (error) => response.destroy(error));
  call.on('end', () => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ bytes }));
  });
};
