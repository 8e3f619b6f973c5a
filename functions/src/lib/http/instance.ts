import { getBuild, getInvalidApiKeyLines, isCloudRunInstance } from '../config';
import { logApiKeyLinesIgnored, logInstanceStarted } from '../logging/instances';
import { prepareEachRequest } from './incoming-requests';
import { stopOnSigterm } from './shutdown';

/** Prepares this process for all of its requests. Importing an operation alone does not. */
export function startInstance(): void {
  prepareEachRequest();
  const invalidLines = getInvalidApiKeyLines();
  if (invalidLines.length > 0) logApiKeyLinesIgnored(invalidLines);
  if (!isCloudRunInstance()) return;
  stopOnSigterm();
  logInstanceStarted({ ...getBuild(), node: process.version });
}
