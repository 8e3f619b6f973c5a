import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** What the deploy package tells Firebase's tools: its functions with their options, and the parameters to be set. */
export interface DeployManifest {
  endpoints: Record<string, ManifestEndpoint>;
  params: ManifestParam[];
  requiredAPIs: { api: string }[];
}

export interface ManifestEndpoint {
  /** An address that contains the expression `{{ params.PROJECT_ID }}`. */
  serviceAccountEmail: string;
  httpsTrigger?: { invoker?: string[] };
  scheduleTrigger?: object;
}

export interface ManifestParam {
  type: string;
  name: string;
  default?: string | number;
}

/** Reads the manifest of a built deploy package as firebase-tools does: from the SDK's own program, with no parameter set. */
export async function readDeployManifest(deployPackage: string): Promise<DeployManifest> {
  const folder = await mkdtemp(join(tmpdir(), 'manifest-'));
  const file = join(folder, 'functions.yaml');
  const program = resolve('node_modules/firebase-functions/lib/bin/firebase-functions.js');
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
