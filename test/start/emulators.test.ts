import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { emulators } from '../../firebase.json';
import { cleanUp, isGroupRunning, temporaryFolder } from '../support/local-server';
import { runProgramSync, startProgram } from '../support/programs';

afterAll(cleanUp);

test('the command reports a taken port in one sentence, before anything starts', async () => {
  const { port } = emulators.firestore;
  const server = createServer().listen(port, emulators.functions.host);
  // Another program may already listen at this port.
  await once(server, 'listening').catch(() => undefined);
  const args = ['--import', 'tsx', 'scripts/emulators.ts'];
  const { status, stdout, stderr } = runProgramSync(process.execPath, args);
  server.close();
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  const setting = 'emulators.firestore.port of firebase.json';
  expect(stderr).toBe(`Port ${port} is taken. Stop what listens there, or choose another with ${setting}.\n`);
});

test('SIGTERM ends what npx has started, and the suite gets the key unchanged', async () => {
  const folder = temporaryFolder();
  // As npx does, this passes no signal on to the program that it runs.
  writeFileSync(join(folder, 'npx'), '#!/bin/sh\necho group $$\nsh -c "sleep 100; true"; true\n', { mode: 0o755 });
  const env = { API_KEY: 'abc#def', PATH: `${folder}:${process.env['PATH'] ?? ''}` };
  const child = startProgram(process.execPath, ['--import', 'tsx', 'scripts/emulators.ts', '--embedded'], { env });
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    output += text;
    if (/group \d+\n/.test(output) && output.includes('sample records added')) break;
  }
  const secrets = 'functions/dist/.secret.local';
  expect(parseEnv(readFileSync(secrets, 'utf8'))).toEqual({ API_KEY: 'abc#def' });
  writeFileSync(secrets, 'API_KEY=local-dev-key\n');
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(isGroupRunning(Number(/group (\d+)/.exec(output)?.[1]))).toBe(false);
});
