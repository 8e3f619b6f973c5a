import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { getBuild, getInvalidApiKeyLines, isCloudRunInstance } from '../config';
import { removeGoogleVariables } from '../google-variables';
import { logApiKeyLinesIgnored, logInstanceStarted, logInstanceStopped } from '../logging/instances';
import { prepareRequest } from './prepare-request';
import { shutdown } from './shutdown';

interface Started {
  request: IncomingMessage;
  response: ServerResponse;
  server: Server;
}

/** Gives the kernel time to send the last bytes before the exit closes the sockets. */
const LINGER_MS = 50;

export function startInstance(): void {
  removeGoogleVariables();
  let isFirst = true;
  // Node publishes each request on this channel before the Functions Framework receives it.
  subscribe('http.server.request.start', (message) => {
    const { request, response, server } = message as Started;
    prepareRequest(request);
    if (!isCloudRunInstance()) return;
    shutdown.addResponse(response, server);
    if (isFirst) stopOnSigterm();
    isFirst = false;
  });
  const invalidLines = getInvalidApiKeyLines();
  if (invalidLines.length > 0) logApiKeyLinesIgnored(invalidLines);
  if (!isCloudRunInstance()) return;
  logInstanceStarted({ ...getBuild(), node: process.version });
  // An alert compares starts and ends, so this runs however the process ends, except by a signal without a handler or by V8 itself.
  process.once('exit', (exit_code) => logInstanceStopped({ exit_code, unanswered: shutdown.runningHandlers }));
  stopOnSigterm();
}

/**
 * Replaces the Functions Framework's SIGTERM handler, which exits in the middle of requests. This happens at the start,
 * and again at the first request, because the framework can add its handler when it begins to listen.
 */
function stopOnSigterm(): void {
  process.removeAllListeners('SIGTERM');
  process.once('SIGTERM', () => void shutdown.stop().then(() => setTimeout(() => process.exit(0), LINGER_MS)));
}
