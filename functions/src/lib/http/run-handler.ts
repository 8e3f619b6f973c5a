import domain, { type Domain } from 'node:domain';
import { shutdown } from './shutdown';

/**
 * Runs a handler. A stop of the instance waits for its end. The handler runs outside the `node:domain` of
 * the Functions Framework, because a domain makes every promise many times as expensive. An error
 * that nothing awaits therefore ends the instance (docs/operations.md#shutdown).
 */
export function runHandler(handle: () => Promise<void>): Promise<void> {
  const { active } = domain as { active?: Domain | null };
  active?.exit();
  try {
    return shutdown.waitFor(handle);
  } finally {
    active?.enter();
  }
}
