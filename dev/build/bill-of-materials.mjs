import { listBundled } from './production.mjs';

/**
 * Lists the packages that production runs, as CycloneDX JSON. esbuild's metafile names the bundled packages, and the deployed lock
 * file those that `npm ci --omit=dev` installs. The list has no time and no serial number, so builds of one commit are identical.
 *
 * @param manifest package.json of the deploy package
 * @param lock the repository's package-lock.json, which has the packages that are bundled
 * @param deployedLock package-lock.json of the deploy package
 */
export function createBillOfMaterials(manifest, metafile, lock, deployedLock) {
  const bundled = listBundled(metafile, lock).map((path) => [path, lock.packages[path]]);
  const installed = Object.entries(deployedLock.packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  // A version that is both bundled and installed, or installed in several folders, is listed once.
  const components = new Map([...bundled, ...installed].map((entry) => toComponent(...entry)).map((c) => [c.purl, c]));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'application', name: manifest.name, version: manifest.version } },
    components: [...components.keys()].sort().map((purl) => components.get(purl)),
  };
}

/** @param path folder of the package, ending in `node_modules/` and its name */
function toComponent(path, { version, integrity, license }) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const [, sha512] = integrity.split('sha512-');
  const hash = { alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') };
  return { type: 'library', 'bom-ref': purl, name, version, hashes: [hash], licenses: [{ expression: license }], purl };
}
