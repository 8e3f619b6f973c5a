import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** The functions of the deploy package with their options, and the parameters of the package, as Firebase's tools read them. */
export interface DeployManifest {
  endpoints: Record<string, object>;
  params: ManifestParam[];
}

export interface ManifestParam {
  type: string;
  name: string;
  default?: string | number;
}

/**
 * Reads the manifest of a built deploy package. Like firebase-tools, this function runs the SDK's own program, without values for
 * the parameters.
 */
export async function readDeployManifest(deployPackage: string): Promise<DeployManifest> {
  const folder = await mkdtemp(join(tmpdir(), 'manifest-'));
  const file = join(folder, 'functions.yaml');
  // The main file of the SDK is in lib/v2.
  const sdk = createRequire(resolve(deployPackage, 'package.json')).resolve('firebase-functions');
  const program = join(dirname(sdk), '../bin/firebase-functions.js');
  try {
    await promisify(execFile)(process.execPath, [program], {
      cwd: deployPackage,
      env: { FUNCTIONS_CONTROL_API: 'true', FUNCTIONS_MANIFEST_OUTPUT_PATH: file, GCLOUD_PROJECT: 'demo-price-lists' },
    });
    return JSON.parse(await readFile(file, 'utf8')) as DeployManifest;
  } finally {
    await rm(folder, { recursive: true });
  }
}
