import { release } from '../../src/price-lists/release';
import { requireKeyRecord } from '../../src/price-lists/resume';
import type { ReleaseOptions } from '../arguments';
import { quote } from '../escape';
import { assertNotInProgress, getOperatorName, toJson, type CommandContext } from './context';

export async function releaseKey(key: string, options: ReleaseOptions, context: CommandContext): Promise<number> {
  const { terminal, db, requestContext } = context;
  const record = await requireKeyRecord(key, db, requestContext);
  assertNotInProgress(record, context);
  if (options.yes !== true) {
    await terminal.confirm(
      `Release ${quote(key)}: its lists stay failed, and the next request for it is a new attempt, ` +
        'with any payload. What was stored stays for the audit.',
      requestContext.signal,
    );
  }
  await release(record, { by: getOperatorName(options), reason: options.reason }, db, requestContext);
  if (options.json === true) terminal.print(toJson({ released: key }));
  else terminal.print(`${quote(key)} is released. The client may send the request again.\n`);
  return 0;
}
