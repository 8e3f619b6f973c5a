import { ConfigError, getBuild, getInvalidApiKeyLines, isCloudRunInstance } from '../config';
import { logApiKeyLinesIgnored, logInstanceStarted } from '../logging';
import { findNodeProblem } from '../node-version';
import { prepareEachRequest } from './incoming-requests';
import { stopOnSigterm } from './shutdown';

/**
 * Starts a process that serves functions: checks its Node, and installs what concerns every request
 * of the process. Importing an operation alone installs nothing.
 *
 * @throws ConfigError if Node is too old
 */
export function startInstance(): void {
  const problem = findNodeProblem();
  if (problem !== undefined) throw new ConfigError(problem);
  prepareEachRequest();
  const invalidLines = getInvalidApiKeyLines();
  if (invalidLines.length > 0) logApiKeyLinesIgnored(invalidLines);
  if (!isCloudRunInstance()) return;
  stopOnSigterm();
  logInstanceStarted({ ...getBuild(), node: process.version });
}
