import { readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { getBuild, isCloudRunInstance } from '../config';
import { logInstanceStarted, type CompileCacheStatus } from '../logging';
import { stopOnSigterm } from './shutdown';

/** What a process does first when it is an instance of Cloud Run; elsewhere nothing. */
export function startInstance(): void {
  if (!isCloudRunInstance()) return;
  stopOnSigterm();
  logInstanceStarted({ ...getBuild(), node: process.version, compile_cache: checkCompileCache() });
}

/**
 * Google changes Node's patch version under a running function, and V8 rejects what another version compiled without a word: a
 * cold start then takes some 100 ms longer. The build keeps one piece of V8's own data beside the cache, which shares its fate.
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
