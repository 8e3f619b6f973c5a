import type { Domain } from 'node:domain';

/**
 * Runs `fn` outside the `node:domain` of the request. The Functions Framework runs each handler in a
 * domain, which makes every promise of a call about ten times as expensive. Errors still reach the
 * code that awaits the call. The rest of the request stays in the domain, where the framework responds
 * with 500 to an error that nothing awaits.
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
