import { RPCS, decodeRequest } from './decode-request';
import { RpcError } from './errors';
import { Faults, NoResponse, type Call, type EndedCall, type ApplyFaults } from './faults';
import type { CallHandler } from './grpc-server';
import type { Requests, Rpc } from './requests';
import type { ResponseStream } from './response-stream';

/** Sends one encoded message of a response. If the function returns a promise, the caller waits for it before the next message. */
export type SendBytes = (message: Buffer) => Promise<void> | undefined;

/**
 * Responds to a call. The embedded Firestore does so itself, and the server of front.ts forwards the call to another Firestore.
 *
 * @throws RpcError for a status other than OK, and NoResponse if a fault ends the call without a status. The client gets any
 * other error as DATA_LOSS.
 */
export type Responder = (call: Call, bytes: Buffer, send: SendBytes) => Promise<void>;

/** Counts and observes calls on their way to a responder, and applies faults to them. */
export interface ObservedCalls {
  readonly handle: CallHandler;
  readonly faults: Faults;
  readonly observe: (listener: (call: EndedCall) => void) => () => void;
  readonly counts: () => Record<Rpc, number>;
}

export function observeCalls(respond: Responder): ObservedCalls {
  const faults = new Faults();
  const listeners = new Set<(call: EndedCall) => void>();
  const counts = Object.fromEntries(RPCS.map((rpc) => [rpc, 0])) as Record<Rpc, number>;
  return {
    handle: (rpc, bytes, stream) => {
      counts[rpc]++;
      void handleCall(respond, faults, { rpc, bytes }, stream).then((ended) => {
        if (ended) for (const listener of listeners) listener(ended);
      });
    },
    faults,
    observe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    counts: () => ({ ...counts }),
  };
}

interface IncomingCall {
  readonly rpc: Rpc;
  readonly bytes: Buffer;
}

/** Handles one call with its faults. Returns how the call ended, or undefined if its request cannot be decoded. */
async function handleCall(
  respond: Responder,
  faults: Faults,
  incoming: IncomingCall,
  stream: ResponseStream,
): Promise<EndedCall | undefined> {
  let call: Call | undefined;
  const toEndedCall = (outcome: EndedCall['outcome']): EndedCall | undefined => call && { ...call, outcome };
  try {
    call = decodeCall(incoming);
    const applyFaults = faults.matchFaults(call);
    await applyFaults('before');
    await applyFaults(0);
    await respond(call, incoming.bytes, createSender(stream, applyFaults));
    await applyFaults('after');
    stream.end();
    return toEndedCall('OK');
  } catch (error) {
    if (error instanceof NoResponse) {
      if (error.kind === 'DROPPED') stream.destroyConnection();
      return toEndedCall(error.kind);
    }
    if (!(error instanceof RpcError)) console.error(`${incoming.rpc} failed:`, error);
    // No client retries DATA_LOSS. The service would retry INTERNAL for minutes, although a full disk would fail each retry.
    const rpcError = error instanceof RpcError ? error : new RpcError('DATA_LOSS', String(error));
    stream.fail(rpcError);
    return toEndedCall(rpcError.code);
  }
}

function decodeCall({ rpc, bytes }: IncomingCall): Call {
  const request = decodeRequest(rpc, bytes);
  const [, project = '', , database = ''] = findResourceName(request).split('/');
  return { rpc, project, database, request };
}

/** Returns a resource name of a request, which contains the name of the database. */
function findResourceName(request: Requests[Rpc]): string {
  if ('database' in request) return request.database;
  return 'query' in request ? request.query.parent : request.parent;
}

function createSender(stream: ResponseStream, applyFaults: ApplyFaults): SendBytes {
  let sent = 0;
  return (message) => {
    if (stream.cancelled) throw new RpcError('CANCELLED', 'The client cancelled the call.');
    const drained = stream.send(message);
    sent++;
    return drained ? drained.then(() => applyFaults(sent)) : applyFaults(sent);
  };
}
