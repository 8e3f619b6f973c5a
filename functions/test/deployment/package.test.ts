import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Firestore } from 'firebase-admin/firestore';
import { startFirestore, type EmbeddedFirestore, type IndexDefinitions } from '../../../packages/firestore-local/src';
import definitions from '../../../firestore.indexes.json';
import { runProgram } from '../../../test/support/programs';
import * as functions from '../../src';
import { sendRequest } from '../support/http';
import { assertConforms } from '../contract/conformance';
import { operationNames, operations, type OperationName } from '../support/operations';
import { waitFor } from '../support/wait-for';
import {
  DEPLOY_PACKAGE,
  PROJECT,
  installDeployPackage,
  listUploadedFiles,
  startDeployedFunction,
  type DeployedFunction,
} from './deployed';
import { startFakeGoogleCloud } from './google';

/** What `npm run build` makes, installed into an empty folder and run as production runs it. */

const SETTINGS = { API_KEY: 'new-key\nold-key\n', CORS_ALLOWED_ORIGINS: 'https://dashboard.example.com' };

interface BillOfMaterials {
  components: { name: string; version: string }[];
}

interface Lock {
  packages: Record<string, { version: string; integrity?: string; dev?: boolean; resolved?: string }>;
}

describe('the deploy package', () => {
  test('contains one file per function, the start of an instance, shared chunks, the compile cache script, manifest, lock file and bill of materials', async () => {
    const uploaded = await listUploadedFiles();
    expect(uploaded.filter((file) => !file.startsWith('chunk-'))).toEqual(
      [
        ...Object.keys(functions).map(getFileName),
        'compile-cache.cjs',
        'index.cjs',
        'instance.cjs',
        'package-lock.json',
        'package.json',
        'sbom.cdx.json',
      ].sort(),
    );
  });

  test.each(operationNames.filter((name) => name !== 'addPriceLists'))(
    '%s loads neither the Firestore SDK nor the parts of firebase-admin beside it',
    async (name) => {
      for (const file of await listStaticImports(getFileName(name))) {
        const code = await readFile(join(DEPLOY_PACKAGE, file), 'utf8');
        expect(code).not.toMatch(/node_modules\/(@google-cloud\/firestore|google-auth-library|firebase-admin)\//);
      }
    },
  );

  test('addPriceLists loads the SDK, so that its path in a bundle is the one that is looked for', async () => {
    const files = await listStaticImports(getFileName('addPriceLists'));
    const code = await Promise.all(files.map((file) => readFile(join(DEPLOY_PACKAGE, file), 'utf8')));
    expect(code.join()).toMatch(/node_modules\/@google-cloud\/firestore\//);
  });

  test('names exact versions and the deploy runtime, and installs the framework alone', async () => {
    const manifest = JSON.parse(await readFile(join(DEPLOY_PACKAGE, 'package.json'), 'utf8')) as Record<string, object>;
    expect(manifest).toMatchObject({
      main: 'index.cjs',
      scripts: { 'gcp-build': 'node compile-cache.cjs' },
      engines: { node: '24' },
    });
    expect(Object.keys(manifest['dependencies'] ?? {})).toEqual(['@google-cloud/functions-framework']);
    for (const version of Object.values({ ...manifest['dependencies'], ...manifest['devDependencies'] })) {
      expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    }
  });

  test('locks every package by its content, and asks no registry by name', async () => {
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
  let served: DeployedFunction | undefined;

  beforeAll(async () => {
    firestore = await startFirestore({ indexes: definitions as IndexDefinitions });
    process.env['FIRESTORE_EMULATOR_HOST'] = firestore.address;
    db = new Firestore({ projectId: PROJECT });
    folder = await installDeployPackage();
    await runProgram('npm', ['run', 'gcp-build'], { cwd: folder });
    const place = { name: 'Nairobi', country_iso: 'ken' };
    await Promise.all([
      db.doc('markets/market-1').set({ name: { en: 'Kenya' }, country_iso: 'ken', currency_iso: 'kes' }),
      db.doc('teams/team-1').set(place),
      db.doc('warehouses/warehouse-1').set(place),
      db.doc('orders/order-1').set({ team_id: 'team-1', status: 'WAITING', created_at: Date.UTC(2026, 0, 5) }),
      db.doc('supply_orders/supply-1').set({ team_id: 'team-1', status: 0, created_at: Date.UTC(2026, 0, 5) }),
    ]);
  }, 180_000);

  afterEach(async () => {
    await served?.stop();
    served = undefined;
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
    const operation = operations[name];
    const body = 'body' in operation ? JSON.stringify(operation.body) : '';
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    return sendRequest(port, { method: operation.method, headers, body });
  };

  test('the bill of materials has the packages that are bundled or installed, and no others', async () => {
    const { components } = JSON.parse(await readFile(join(folder, 'sbom.cdx.json'), 'utf8')) as BillOfMaterials;
    const listed = components.map(({ name, version }) => `${name}@${version}`);
    const bundled = [...(await listBundledFolders()), ...ES_MODULES.map((name) => `node_modules/${name}`)];
    const installed = (await listInstalledFolders(folder)).map((path) => join(folder, path));
    const expected = await Promise.all([...bundled, ...installed].map(readNameAndVersion));
    expect(listed).toEqual([...new Set(expected)].sort());
  });

  /** Has a process say which modules it takes from the compile cache. */
  const DEBUG_CACHE = { NODE_DEBUG_NATIVE: 'compile_cache' };

  /** The modules of the package that a process has taken from the compile cache. */
  function listCachedModules({ output }: DeployedFunction): string[] {
    const prefix = `V8 code cache for CommonJS ${folder}/`;
    const accepted = output.filter((line) => line.includes(prefix) && line.includes(' was accepted'));
    return accepted.map((line) => line.slice(line.indexOf(prefix) + prefix.length, line.indexOf(' was accepted')));
  }

  describe.each(operationNames)('%s', (name) => {
    let started: DeployedFunction;
    beforeAll(async () => {
      started = await startDeployedFunction(folder, name, { ...emulated(), ...DEBUG_CACHE });
    });
    afterAll(() => started.stop());

    test('accepts both API keys of a rotation, rejects any other, and logs one line per request', async () => {
      const { port } = started;
      const responses = [await call(name, port, 'new-key'), await call(name, port, 'old-key')];
      expect(responses.map(({ status }) => status)).toEqual([200, 200]);
      for (const response of responses) assertConforms({ operation: name, method: operations[name].method }, response);
      expect(responses[0]?.json).toMatchObject(name === 'addPriceLists' ? { products_count: 2 } : { count: 1 });
      expect(responses[1]?.text).toBe(responses[0]?.text);
      expect((await call(name, port, 'wrong')).status).toBe(401);
      const listRequests = () => started.output.filter((line) => line.includes('"event":"request"'));
      await waitFor(() => listRequests().length >= 3);
      const requests = listRequests().map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(requests.map(({ operation, status }) => [operation, status])).toEqual(
        [200, 200, 401].map((s) => [name, s]),
      );
    });

    test('takes every module that it loads from the compile cache that gcp-build makes', async () => {
      const imported = await listStaticImports(getFileName(name));
      expect(listCachedModules(started)).toEqual(expect.arrayContaining(imported));
    });
  });

  describe('the compile cache that gcp-build makes', () => {
    async function readCachedModules(env: Record<string, string> = {}): Promise<string[]> {
      // A cache under another name is linked in the temporary folder.
      const settings = { ...emulated(), ...DEBUG_CACHE, TMPDIR: folder, ...env };
      served = await startDeployedFunction(folder, 'getTeams', settings);
      expect((await call('getTeams', served.port, 'new-key')).status).toBe(200);
      return listCachedModules(served);
    }

    test('is used on another processor and by another user, whose caches Node names differently', async () => {
      const [made = ''] = await readdir(join(folder, '.compile-cache'));
      const elsewhere = `${process.version}-${process.arch}-00000000-65534`;
      await rename(join(folder, '.compile-cache', made), join(folder, '.compile-cache', elsewhere));
      expect(await readCachedModules()).toContain(getFileName('getTeams'));
    });

    test.each([
      ['accepted', {}],
      // As after an update of Node, V8 rejects what was compiled with other options than its own.
      ['rejected', { NODE_OPTIONS: '--interpreted-frames-native-stack' }],
    ])('is %s, which the line of a starting instance says', async (status, env) => {
      const cached = await readCachedModules({ K_SERVICE: 'get-teams', ...env });
      expect(cached.length > 0).toBe(status === 'accepted');
      const lines = (served?.output ?? []).filter((line) => line.includes('"event":"instance_started"'));
      const { version } = JSON.parse(await readFile(join(DEPLOY_PACKAGE, 'package.json'), 'utf8')) as {
        version: string;
      };
      expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
        {
          version,
          commit: expect.stringMatching(/^[0-9a-f]{40}(-dirty)?$|^unknown$/) as string,
          compile_cache: status,
        },
      ]);
      expect(lines[0]).toContain(`"node":"${process.version}"`);
    });

    test('is not needed: without a folder to link it from, modules are compiled from source', async () => {
      expect(await readCachedModules({ TMPDIR: join(folder, 'read-only') })).toEqual([]);
    });
  });

  test('reaches Firestore over TLS with a token of its service account, as where no emulator is set', async () => {
    const google = await startFakeGoogleCloud(firestore.port);
    served = await startDeployedFunction(folder, 'getTeams', { ...SETTINGS, ...google.environment });
    const { status, json } = await call('getTeams', served.port, 'new-key');
    await google.close();
    expect([status, json]).toMatchObject([200, { count: 1 }]);
    expect(google.requests).toContain('CONNECT firestore.googleapis.com:443');
    expect(google.requests.some((asked) => asked.includes('/service-accounts/default/token'))).toBe(true);
  });
});

/** Returns the file of the deploy package that holds a function, which is named like its source. */
function getFileName(name: string): string {
  return `${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.cjs`;
}

/** The files of the deploy package that are loaded with one of them. */
async function listStaticImports(file: string): Promise<string[]> {
  const files = new Set([file]);
  for (const each of files) {
    const code = await readFile(join(DEPLOY_PACKAGE, each), 'utf8');
    for (const [, imported = ''] of code.matchAll(/^(?:var \w+ = )?require\("\.\/([\w-]+\.cjs)"\);$/gm))
      files.add(imported);
  }
  return [...files];
}

/** Bundled packages that leave no path in the code, as a CommonJS module does. */
const ES_MODULES = ['firebase-functions', 'zod'];

/** The folders, in this repository, of the packages whose paths are in the bundled code. */
async function listBundledFolders(): Promise<string[]> {
  const files = (await listUploadedFiles()).filter((file) => file.endsWith('.cjs'));
  const code = await Promise.all(files.map((file) => readFile(join(DEPLOY_PACKAGE, file), 'utf8')));
  const folders = code.join('\n').matchAll(/"([^"\s]*node_modules\/(?:@[^/"]+\/)?[^/"]+)\/[^"\s]*"/g);
  return [...new Set([...folders].map(([, folder = '']) => folder))];
}

/** The folders of all installed packages, those within others too. */
async function listInstalledFolders(folder: string): Promise<string[]> {
  const files = await readdir(join(folder, 'node_modules'), { recursive: true });
  const manifests = files.filter((file) => /(^|\/node_modules\/)(@[^/]+\/)?[^/@][^/]*\/package\.json$/.test(file));
  return manifests.map((file) => dirname(join('node_modules', file)));
}

async function readNameAndVersion(folder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Record<string, string>;
  return `${manifest['name']}@${manifest['version']}`;
}
