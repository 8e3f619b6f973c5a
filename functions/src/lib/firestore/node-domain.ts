import type { Domain } from 'node:domain';

/**
 * Runs `fn` outside the `node:domain` of the request. The Functions Framework runs each handler in
 * one, which adds to every promise and tick of a call: ten times the cost of everything else.
 * Errors still reach the code that awaits the call. The rest of a request stays in the domain,
 * which responds with 500 to an error that nothing awaits.
 */
export function runOutsideDomain<T>(fn: () => T): T {
  const { domain } = process as { domain?: Domain | null };
  domain?.exit();
  try {
    return fn();
  } finally {
    domain?.enter();
  }
}
