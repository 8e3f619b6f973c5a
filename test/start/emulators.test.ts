import { once } from 'node:events';
import { createServer } from 'node:net';
import { emulators } from '../../firebase.json';
import { runProgramSync } from '../support/programs';

const { host } = emulators.functions;

test.each([
  ['functions', ['--embedded']],
  ['firestore', []],
] as const)(
  'a taken port of the %s emulator is told in one sentence, before anything starts',
  async (name, options) => {
    const { port } = emulators[name];
    const server = createServer().listen(port, host);
    // Another program may have it already.
    await once(server, 'listening').catch(() => undefined);
    const { status, stdout, stderr } = runProgramSync(process.execPath, [
      '--import',
      'tsx',
      'scripts/emulators.ts',
      ...options,
    ]);
    server.close();
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toBe(
      `Port ${port} is taken. Stop what listens there, or choose another with emulators.${name}.port of firebase.json.\n`,
    );
  },
);
