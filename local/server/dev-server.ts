import { createServer } from 'node:http';
import { url as getInspectorUrl } from 'node:inspector';
import { formatMessages, type BuildFailure } from 'esbuild';
import { createInlineHost, createThreadHost, type ServedBuild } from './build-host';
import { createBundler, SOURCE_FOLDER } from './bundler';
import { forwardRequest } from './forward';
import { closeServer, listen, sendJson, type FunctionsServer, type GetRoute } from './functions-server';
import { StartupError } from './local-config';
import { watchFolder } from './watch-folder';

/**
 * `npm run dev`: serves the functions and replaces them when a source file is saved. Firestore and its data stay. Each build
 * runs in a new thread, so no state of an earlier build is left; the earlier build finishes its open requests.
 */

/** Time for the requests that an earlier build still serves. */
const RETIRE_MS = 120_000;

export interface DevServerOptions {
  port: number;
  project: string;
  getExtraRoute: GetRoute;
}

/** @throws StartupError if the functions cannot be built or loaded; the error of `listen` */
export async function startDevServer({ port, project, getExtraRoute }: DevServerOptions): Promise<FunctionsServer> {
  let current: ServedBuild | undefined;
  const server = createServer((request, response) => {
    const route = getExtraRoute((request.url ?? '').split('?', 1)[0] ?? '');
    if (route !== undefined) route(request, response);
    else if (current !== undefined) forwardRequest(request, response, current.origin);
    else sendJson(response, 503, { error: 'The functions stopped. Save a source file to start them again.' });
  });
  const publicOrigin = await listen(server, port);

  const bundler = await createBundler();
  const hostOptions = { project, publicOrigin, bundler };
  const onCrash = () => (current = undefined);
  const host =
    getInspectorUrl() === undefined ? await createThreadHost(hostOptions, onCrash) : createInlineHost(hostOptions);
  const replaceBuild = async (): Promise<void> => {
    const file = await bundler.build();
    const next = await host.serve(file);
    const previous = current;
    current = next;
    void previous?.close(RETIRE_MS);
  };
  try {
    await replaceBuild();
  } catch (error) {
    throw new StartupError(await describeFailure(error));
  }

  const watcher = watchFolder(SOURCE_FOLDER, async (file) => {
    const startedAt = performance.now();
    try {
      await replaceBuild();
      console.log(`Reloaded in ${Math.round(performance.now() - startedAt)} ms after a change of ${file}`);
    } catch (error) {
      console.error(`${await describeFailure(error)}\nThe previous build still serves.`);
    }
  });
  return {
    origin: publicOrigin,
    addresses: current === undefined ? new Map() : current.addresses,
    close: async (graceMs) => {
      watcher.close();
      await Promise.all([bundler.close(), closeServer(server, graceMs)]);
      await Promise.all([current?.close(graceMs), host.close()]);
    },
  };
}

async function describeFailure(error: unknown): Promise<string> {
  if (isBuildFailure(error)) {
    const messages = await formatMessages(error.errors, { kind: 'error', color: process.stdout.isTTY });
    return `The functions could not be built.\n${messages.join('').trimEnd()}`;
  }
  return `The functions could not be loaded.\n${error instanceof Error ? error.message : String(error)}`;
}

const isBuildFailure = (error: unknown): error is BuildFailure => error instanceof Error && 'errors' in error;
