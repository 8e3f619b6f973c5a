import { readFileSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore, type IndexDefinitions } from '../../../packages/firestore-local/src';
import definitions from '../../../firestore.indexes.json';
import { readSampleBodies, seedIfEmpty } from '../../../local/sample';
import * as functions from '../../src';
import { sendRequest } from '../../../scripts/harness/http';
import { assertConforms } from '../../../scripts/harness/conformance';
import { operationNames, operations, type OperationName } from '../../../scripts/harness/operations';
import { waitFor } from '../support/wait-for';
import {
  DEPLOY_PACKAGE,
  PROJECT,
  installDeployPackage,
  listUploadedFiles,
  startDeployedFunction,
  type DeployedFunction,
} from '../../../scripts/harness/deployed';

const SETTINGS = { API_KEY: 'new-key\nold-key\n', CORS_ALLOWED_ORIGINS: 'https://dashboard.example.com' };

interface BillOfMaterials {
  components: { name: string; version: string }[];
}

interface Lock {
  packages: Record<string, { version: string; integrity?: string; dev?: boolean; resolved?: string }>;
}

describe('the deploy package', () => {
  test('contains one file per function, the start of an instance, shared chunks, the check of Node, manifest, lock file and bill of materials', async () => {
    const uploaded = await listUploadedFiles();
    expect(uploaded.filter((file) => !file.startsWith('chunk-'))).toEqual(
      [
        ...Object.keys(functions).map(getFileName),
        'index.cjs',
        'instance.cjs',
        'node-version.cjs',
        'package-lock.json',
        'package.json',
        'sbom.cdx.json',
      ].sort(),
    );
  });

  test.each(operationNames.filter((name) => !functions[name].operation.writes))(
    '%s loads neither the Firestore SDK nor another part of firebase-admin, and zod only to parse a body',
    async (name) => {
      for (const file of await listStaticImports(getFileName(name))) {
        const code = await readFile(join(DEPLOY_PACKAGE, file), 'utf8');
        expect(code).not.toMatch(/node_modules\/(@google-cloud\/firestore|google-auth-library|firebase-admin)\//);
        if (operations[name].method === 'GET') expect(code).not.toContain('ZodError');
      }
    },
  );

  test('names exact versions and the deploy runtime, and depends only on the framework', async () => {
    const manifest = JSON.parse(await readFile(join(DEPLOY_PACKAGE, 'package.json'), 'utf8')) as Record<string, object>;
    expect(manifest).toMatchObject({
      main: 'index.cjs',
      engines: { node: '24' },
    });
    expect(Object.keys(manifest['dependencies'] ?? {})).toEqual(['@google-cloud/functions-framework']);
    for (const version of Object.values({ ...manifest['dependencies'], ...manifest['devDependencies'] })) {
      expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    }
  });

  test('locks every package by its content, and names no registry', async () => {
    const { packages } = JSON.parse(await readFile(join(DEPLOY_PACKAGE, 'package-lock.json'), 'utf8')) as Lock;
    const { '': _root, ...locked } = packages;
    expect(Object.keys(locked).length).toBeGreaterThan(100);
    for (const { integrity, resolved } of Object.values(locked)) {
      expect(integrity).toMatch(/^sha512-/);
      expect(resolved).toBeUndefined();
    }
  });
});

describe('installed by npm ci into an empty folder, under the Functions Framework', () => {
  let folder: string;
  let firestore: EmbeddedFirestore;
  let db: Firestore;

  beforeAll(async () => {
    firestore = await startFirestore({ indexes: definitions as IndexDefinitions });
    db = new Firestore({ projectId: PROJECT, host: firestore.address, ssl: false });
    folder = await installDeployPackage();
    await seedIfEmpty(db);
  });

  afterAll(async () => {
    await db.terminate();
    await firestore.close();
    await rm(folder, { recursive: true });
  });

  const emulated = () => ({
    ...SETTINGS,
    FIRESTORE_EMULATOR_HOST: firestore.address,
    METADATA_SERVER_DETECTION: 'none',
  });

  const call = (name: OperationName, port: number, key: string) => {
    const body = readSampleBody(name);
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    return sendRequest(port, { method: operations[name].method, headers, body });
  };

  test('the bill of materials has the packages that are bundled or installed, and no others', async () => {
    const { components } = JSON.parse(await readFile(join(folder, 'sbom.cdx.json'), 'utf8')) as BillOfMaterials;
    const listed = components.map(({ name, version }) => `${name}@${version}`);
    const bundled = [...(await listBundledFolders()), ...ES_MODULES.map((name) => `node_modules/${name}`)];
    const installed = (await listInstalledFolders(folder)).map((path) => join(folder, path));
    const expected = await Promise.all([...bundled, ...installed].map(readNameAndVersion));
    expect(listed).toEqual([...new Set(expected)].sort());
  });

  describe.each(operationNames)('%s', (name) => {
    let started: DeployedFunction;
    beforeAll(async () => {
      started = await startDeployedFunction(folder, name, emulated());
    });
    afterAll(() => started.stop());

    test('accepts both API keys of a rotation, and logs one line per request', async () => {
      for (const key of ['new-key', 'old-key']) {
        const response = await call(name, started.port, key);
        expect(response.status).toBe(200);
        assertConforms({ operation: name, method: operations[name].method }, response);
      }
      const listRequests = () => started.output.filter((line) => line.includes('"event":"request"'));
      await waitFor(() => listRequests().length >= 2);
      const request = { operation: name, status: 200 };
      expect(listRequests().map((line) => JSON.parse(line) as object)).toMatchObject([request, request]);
    });
  });

  test('an instance logs the version and the build id of the deploy package, and its version of Node', async () => {
    const { output, stop } = await startDeployedFunction(folder, 'getTeams', emulated());
    const findStart = () => output.find((line) => line.includes('"event":"instance_started"'));
    await waitFor(() => findStart() !== undefined);
    await stop();
    const { version, config } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
      version: string;
      config: { build: string };
    };
    expect(config.build).toMatch(/^[0-9a-f]{40}$/);
    expect(JSON.parse(findStart() ?? '')).toMatchObject({ version, commit: config.build, node: process.version });
  });
});

/** Returns the body of the call that `npm start` prints. */
function readSampleBody(name: OperationName): string {
  const body = readSampleBodies()[name] ?? '';
  return body.startsWith('@') ? readFileSync(body.slice(1), 'utf8') : body;
}

/** Returns the file of the deploy package that holds a function, which is named like its source. */
function getFileName(name: string): string {
  return `${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.cjs`;
}

/** Lists a file of the deploy package, and the files that it loads when it is loaded. */
async function listStaticImports(file: string): Promise<string[]> {
  const files = new Set([file]);
  for (const each of files) {
    const code = await readFile(join(DEPLOY_PACKAGE, each), 'utf8');
    for (const [, imported = ''] of code.matchAll(/^(?:var \w+ = )?require\("\.\/([\w-]+\.cjs)"\);$/gm))
      files.add(imported);
  }
  return [...files];
}

/** Bundled ES modules. Unlike CommonJS modules, they leave no path in the code. */
const ES_MODULES = ['firebase-functions', 'zod'];

/** Lists the folders of the packages whose paths are in the bundled code. */
async function listBundledFolders(): Promise<string[]> {
  const files = (await listUploadedFiles()).filter((file) => file.endsWith('.cjs'));
  const code = await Promise.all(files.map((file) => readFile(join(DEPLOY_PACKAGE, file), 'utf8')));
  const folders = code.join('\n').matchAll(/"([^"\s]*node_modules\/(?:@[^/"]+\/)?[^/"]+)\/[^"\s]*"/g);
  return [...new Set([...folders].map(([, folder = '']) => folder))];
}

/** Lists the folders of all installed packages, including nested ones. */
async function listInstalledFolders(folder: string): Promise<string[]> {
  const files = await readdir(join(folder, 'node_modules'), { recursive: true });
  const manifests = files.filter((file) => /(^|\/node_modules\/)(@[^/]+\/)?[^/@][^/]*\/package\.json$/.test(file));
  return manifests.map((file) => dirname(join('node_modules', file)));
}

async function readNameAndVersion(folder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Record<string, string>;
  return `${manifest['name']}@${manifest['version']}`;
}
