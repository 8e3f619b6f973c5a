import {
  InterceptingCall,
  status,
  type CallInvocationTransformer,
  type Interceptor,
  type StatusObject,
} from '@grpc/grpc-js';

/**
 * Makes the Firestore SDK send each streaming call once. After some errors, it would otherwise send the call up to five
 * times. During the pauses, 4 to 12 s in total, the caller would not learn what Firestore responded
 * (docs/decisions/0005-own-retries.md).
 */

/** The SDK never repeats a streaming call after this code. */
const NOT_REPEATED = status.ABORTED;

/** A status whose code was replaced, with the original status. */
interface ReplacedStatus extends StatusObject {
  original: StatusObject;
}

/** Replaces the code of an error with one after which the SDK gives up. */
const replaceStatus: Interceptor = (options, nextCall) =>
  new InterceptingCall(nextCall(options), {
    start: (metadata, _, next) =>
      next(metadata, {
        onReceiveStatus: (received, forward) => {
          if (received.code === status.OK) forward(received);
          else forward({ ...received, code: NOT_REPEATED, original: received } as ReplacedStatus);
        },
      }),
  });

/** A gRPC option for the SDK's client. It adds {@link replaceStatus} to streaming calls. */
export const singleTry: CallInvocationTransformer = (call) => {
  if (!call.methodDefinition.responseStream) return call;
  return { ...call, callOptions: { ...call.callOptions, interceptors: [replaceStatus] } };
};

/** Returns an error with the original status, or the same error if its status was not replaced. */
export function restoreStatus(error: unknown): unknown {
  const { original } = error as Partial<ReplacedStatus>;
  if (!(error instanceof Error) || original === undefined) return error;
  const message = `${original.code} ${status[original.code]}: ${original.details}`;
  return Object.assign(new Error(message, { cause: error }), { code: original.code });
}
