import type { Request, Response } from '@google-cloud/functions-framework';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { Domain } from 'node:domain';
import { encodeRunQueryRequest } from './run-query-request';

/** Receives the messages of a query and counts their bytes: the least that a read of this size costs. */

const client = new Client(process.env['FIRESTORE_EMULATOR_HOST'] ?? '', credentials.createInsecure());
const parent = `projects/${process.env['GCLOUD_PROJECT']}/databases/(default)/documents`;
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
    encodeRunQueryRequest(parent, team_id),
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
