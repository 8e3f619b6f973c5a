import { readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { ConfigError, getBuild, isCloudRunInstance } from '../config';
import { logInstanceStarted, type CompileCacheStatus } from '../logging';
import { findNodeProblem } from '../node-version';
import { stopOnSigterm } from './shutdown';

/**
 * What a process does first: says so if its Node is too old, and starts an instance of Cloud Run.
 *
 * @throws ConfigError
 */
export function startInstance(): void {
  const problem = findNodeProblem();
  if (problem !== undefined) throw new ConfigError(problem);
  if (!isCloudRunInstance()) return;
  stopOnSigterm();
  logInstanceStarted({ ...getBuild(), node: process.version, compile_cache: checkCompileCache() });
}

/**
 * Google changes Node's patch version under a running function, and V8 rejects what another version
 * compiled without a word: a cold start then takes some 100 ms longer. The build keeps one piece of
 * V8's own data beside the cache, which shares its fate.
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
