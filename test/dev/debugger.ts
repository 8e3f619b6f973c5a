import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A debugger that attaches to a process by the inspector protocol, as editors do. */
export interface DebuggerClient {
  /** The source map of each script, by script id. */
  sourceMaps: ReadonlyMap<string, string>;
  send: (method: string) => Promise<void>;
  /** Resolves with the next event of this name. */
  next: (event: string) => Promise<object>;
  close: () => void;
}

interface Message {
  id?: number;
  method?: string;
  params?: { scriptId?: string; sourceMapURL?: string };
}

/** Attaches to the address that `--inspect` prints. */
export async function connectDebugger({ stderr }: { readonly stderr: string }): Promise<DebuggerClient> {
  const [address = ''] = /ws:\/\/\S+/.exec(stderr) ?? [];
  const socket = new WebSocket(address);
  await once(socket, 'open');

  const sourceMaps = new Map<string, string>();
  const listeners = new Map<string | number, (params: object) => void>();
  socket.addEventListener('message', ({ data }: { data: unknown }) => {
    const { id, method, params = {} } = JSON.parse(String(data)) as Message;
    if (method === 'Debugger.scriptParsed' && params.scriptId !== undefined && params.sourceMapURL !== undefined)
      sourceMaps.set(params.scriptId, params.sourceMapURL);
    const key = id ?? method ?? '';
    listeners.get(key)?.(params);
    listeners.delete(key);
  });
  const wait = (key: string | number) => new Promise<object>((resolve) => listeners.set(key, resolve));

  let lastId = 0;
  const send = async (method: string): Promise<void> => {
    const id = ++lastId;
    const done = wait(id);
    socket.send(JSON.stringify({ id, method }));
    await done;
  };
  await send('Debugger.enable');
  return { sourceMaps, send, next: wait, close: () => socket.close() };
}

interface PausedEvent {
  callFrames: { location: { scriptId: string; lineNumber: number; columnNumber: number } }[];
}

/** Finds the source line at which the program paused, as an editor does by the script's inline source map. */
export function findOriginalPosition({ sourceMaps }: DebuggerClient, paused: object): { file: string; text: string } {
  const [frame] = (paused as PausedEvent).callFrames;
  if (frame === undefined) throw new Error('the program did not pause in a function');
  const { scriptId, lineNumber, columnNumber } = frame.location;
  const encoded = sourceMaps.get(scriptId)?.split('base64,')[1] ?? '';
  const payload = JSON.parse(Buffer.from(encoded, 'base64').toString()) as SourceMapPayload;
  const entry = new SourceMap(payload).findEntry(lineNumber, columnNumber);
  if (!('originalSource' in entry)) throw new Error('the source map does not know the position');
  const { originalSource, originalLine } = entry;
  const file = fileURLToPath(new URL(originalSource, payload.sourceRoot));
  return { file, text: readFileSync(file, 'utf8').split('\n')[originalLine] ?? '' };
}
