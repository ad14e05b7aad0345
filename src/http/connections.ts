import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { FairRoom } from '../contracts/fair-room.ts';
import { clientKeyOf } from './client-address.ts';

const MAX_CONNECTIONS = 10_000;

/** Time for a refused request to send the rest of its body, so that its sender reads the response. */
const LINGER_MS = 2_000;

const LOG_EVERY_MS = 60_000;

/** The process's limit of open files, which includes sockets. */
export function readOpenFilesLimit(): number {
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { soft?: number | string } };
  };
  return Number(userLimits?.open_files?.soft ?? Number.NaN) || MAX_CONNECTIONS * 4;
}

/**
 * Bounds connections to a quarter of the files that may be open. Callers share theirs by address; a trusted proxy has no share. The
 * returned function takes a connection out of its caller's share.
 */
export function boundConnections(
  server: Server,
  options: { openFiles: number; isProxy: (address: string | undefined) => boolean; log: Logger },
): (socket: Socket) => void {
  const { openFiles, isProxy, log } = options;
  const most = Math.min(MAX_CONNECTIONS, Math.floor(openFiles / 4));
  const room = new FairRoom(most);
  const callers = new WeakMap<Socket, string>();
  let loggedAtMs = Number.NEGATIVE_INFINITY;

  function logRefusal(address: string | undefined) {
    if (performance.now() - loggedAtMs < LOG_EVERY_MS) return;
    loggedAtMs = performance.now();
    log.warn({ address, most }, 'too many open connections; closing new ones');
  }

  function giveBack(socket: Socket) {
    const caller = callers.get(socket);
    if (caller === undefined) return;
    callers.delete(socket);
    room.giveBack(caller, 1);
  }

  server.maxConnections = most;
  server.on('drop', (dropped) => logRefusal(dropped?.remoteAddress));
  server.on('connection', (socket) => {
    const { remoteAddress } = socket;
    if (isProxy(remoteAddress)) return;
    const caller = clientKeyOf(remoteAddress);
    if (!room.take(caller, 1)) {
      logRefusal(remoteAddress);
      return void socket.destroy();
    }
    callers.set(socket, caller);
    socket.once('close', () => giveBack(socket));
  });
  return giveBack;
}

/** A sender may announce more than it ever sends. */
export function closeUnlessComplete(request: IncomingMessage): void {
  if (request.complete) return;
  request.resume();
  const timer = setTimeout(() => {
    if (!request.complete) request.destroy();
  }, LINGER_MS);
  timer.unref();
}
