import {
  InterceptingCall,
  status,
  type CallInvocationTransformer,
  type Interceptor,
  type StatusObject,
} from '@grpc/grpc-js';

/**
 * Makes a streaming call of the Firestore SDK one try. The SDK repeats such a call up to five times
 * after the codes of its service configuration, with pauses, and so hides for ten seconds and more
 * what Firestore answered: see docs/decisions/0005-own-retries.md.
 */

/** A code after which the SDK repeats no call. */
const NOT_REPEATED = status.ABORTED;

/** A status under another code, and its own. */
interface ReplacedStatus extends StatusObject {
  original: StatusObject;
}

/** Reports an error under a code after which the SDK gives up. */
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

/** An option of the client of the SDK: adds {@link replaceStatus} to its streaming calls. */
export const singleTry: CallInvocationTransformer = (call) => {
  if (!call.methodDefinition.responseStream) return call;
  return { ...call, callOptions: { ...call.callOptions, interceptors: [replaceStatus] } };
};

/** Gives an error of the SDK the status that Firestore answered with. */
export function restoreStatus(error: unknown): unknown {
  const { original } = error as Partial<ReplacedStatus>;
  if (!(error instanceof Error) || original === undefined) return error;
  const message = `${original.code} ${status[original.code]}: ${original.details}`;
  return Object.assign(new Error(message, { cause: error }), { code: original.code });
}
