import { readdir, rm } from 'node:fs/promises';

/** Deletes Node's C++ headers (67 MB): the package that brings the Node binary has them, and nothing here is compiled. */

for (const name of await readdir('node_modules').catch(() => [])) {
  if (/^node-(linux|win)-/.test(name)) await rm(`node_modules/${name}/include`, { recursive: true, force: true });
}
