import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as functions from '../../src';
import { assertConforms } from '../../../deploy/verify/conformance';
import { DEPLOY_PACKAGE, installDeployPackage, listUploadedFiles } from '../../../dev/run/deployed';
import { sendRequest } from '../../../dev/run/http';
import { operationNames, operations } from '../../../dev/run/operations';
import {
  DEPLOYED_HEADERS,
  getLogged,
  startDeployedPackage,
  type DeployedPackage,
} from '../../../test/harness/deployed-package';
import { writeRecords } from '../../../test/harness/stored';
import { waitFor } from '../../../test/harness/wait-for';

interface BillOfMaterials {
  components: { name: string; version: string }[];
}

interface Lock {
  packages: Record<string, { version: string; integrity?: string; dev?: boolean; resolved?: string }>;
}

describe('the deploy package', () => {
  test('contains only the main file, one file per function, the start of an instance, shared chunks, the check of Node, the manifest, the lock file and the bill of materials', async () => {
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
    '%s starts without the Firestore SDK, google-auth-library and firebase-admin, and without zod unless it takes a body',
    async (name) => {
      for (const file of await listStaticImports(getFileName(name))) {
        const code = await readFile(join(DEPLOY_PACKAGE, file), 'utf8');
        expect(code).not.toMatch(/node_modules\/(@google-cloud\/firestore|google-auth-library|firebase-admin)\//);
        if (operations[name].method === 'GET') expect(code).not.toContain('ZodError');
      }
    },
  );

  test('names exact versions and the deploy runtime, and depends only on the Functions Framework', async () => {
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

describe('the deploy package, installed by npm ci and run by the Functions Framework:', () => {
  let folder: string;
  let installed: DeployedPackage;
  beforeAll(async () => {
    folder = await installDeployPackage();
    installed = await startDeployedPackage({ folder });
    const record = { name: 'A', country_iso: 'ken', team_id: 'team-1', created_at: Date.UTC(2026, 0, 1) };
    for (const collection of ['teams', 'warehouses', 'orders', 'supply_orders'])
      await writeRecords(installed.db, collection, { a: record });
  });
  afterAll(async () => {
    await installed.close();
    await rm(folder, { recursive: true });
  });

  test('the bill of materials has the packages that are bundled or installed, and no others', async () => {
    const { components } = JSON.parse(await readFile(join(folder, 'sbom.cdx.json'), 'utf8')) as BillOfMaterials;
    const listed = components.map(({ name, version }) => `${name}@${version}`);
    const bundled = [...(await listBundledFolders()), ...ES_MODULES.map((name) => `node_modules/${name}`)];
    const { packages } = JSON.parse(await readFile(join(folder, 'node_modules/.package-lock.json'), 'utf8')) as Lock;
    const installed = Object.entries(packages).map(([path, { version }]) => `${toName(path)}@${version}`);
    const expected = [...(await Promise.all(bundled.map(readNameAndVersion))), ...installed];
    expect(listed).toEqual([...new Set(expected)].sort());
  });

  test.each(operationNames)(
    '%s accepts both API keys of a rotation, and logs one event `request` each time',
    async (name) => {
      const started = await installed.start(name, { API_KEY: 'new-key\nold-key\n' });
      const { method, body } = operations[name];
      for (const key of ['new-key', 'old-key']) {
        const headers = { ...DEPLOYED_HEADERS, 'x-api-key': key };
        const response = await sendRequest(started.port, {
          method,
          headers,
          body: body === undefined ? '' : JSON.stringify(body),
        });
        const read = name === 'addPriceLists' ? { price_list: { status: 'ready' } } : { count: 1 };
        expect(response).toMatchObject({ status: 200, json: read });
        assertConforms({ operation: name, method }, response);
      }
      const getRequests = () => getLogged(started, 'request');
      await waitFor(() => getRequests().length >= 2);
      const request = { operation: name, status: 200 };
      expect(getRequests()).toMatchObject([request, request]);
    },
  );

  test('an instance logs the version and the build id of the deploy package, and its version of Node', async () => {
    const started = await installed.start('getTeams');
    await waitFor(() => getLogged(started, 'instance_started').length > 0);
    const { version, config } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
      version: string;
      config: { build: string };
    };
    expect(config.build).toMatch(/^[0-9a-f]{40}$/);
    const line = { version, commit: config.build, node: process.version };
    expect(getLogged(started, 'instance_started')).toMatchObject([line]);
  });
});

/** Returns the name of the file of a function in the deploy package. */
function getFileName(name: string): string {
  return `${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.cjs`;
}

/** Lists a file of the deploy package, and all files that are loaded when the file is loaded. */
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

const toName = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

async function readNameAndVersion(folder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Record<string, string>;
  return `${manifest['name']}@${manifest['version']}`;
}
