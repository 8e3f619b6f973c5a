import { once } from 'node:events';
import { createServer } from 'node:net';
import { emulators } from '../../firebase.json';
import { runProgramSync } from '../support/programs';

test('a taken port is told in one sentence, before anything starts', async () => {
  const { port } = emulators.firestore;
  const server = createServer().listen(port, emulators.functions.host);
  // Another program may have it already.
  await once(server, 'listening').catch(() => undefined);
  const args = ['--import', 'tsx', 'scripts/emulators.ts'];
  const { status, stdout, stderr } = runProgramSync(process.execPath, args);
  server.close();
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  const setting = 'emulators.firestore.port of firebase.json';
  expect(stderr).toBe(`Port ${port} is taken. Stop what listens there, or choose another with ${setting}.\n`);
});
