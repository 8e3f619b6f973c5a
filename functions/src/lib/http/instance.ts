import { readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { ConfigError, getBuild, getInvalidApiKeyLines, isCloudRunInstance } from '../config';
import { logApiKeyLinesIgnored, logInstanceStarted, type CompileCacheStatus } from '../logging';
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
  logInstanceStarted({ ...getBuild(), node: process.version, compile_cache: checkCompileCache() });
}

/**
 * Google changes Node's patch version under a deployed function. V8 then silently rejects the compile
 * cache, and a cold start takes about 100 ms longer. The build keeps a probe beside the cache, which
 * V8 rejects exactly when it rejects the rest.
 */
function checkCompileCache(): CompileCacheStatus {
  const folder = getCompileCacheDir();
  if (folder === undefined) return 'none';
  try {
    const { cachedDataRejected } = new Script('probe', { cachedData: readFileSync(join(folder, 'probe')) });
    return cachedDataRejected === true ? 'rejected' : 'accepted';
  } catch {
    return 'none';
  }
}
