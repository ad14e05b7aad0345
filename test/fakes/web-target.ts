import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { holdRefused } from '../helpers/refused-port.ts';

/** A web server that checks look at, on 127.0.0.1 if not said otherwise; it goes away with the running test. */
export interface WebTarget {
  /** `http://127.0.0.1:port`, without a slash at the end. */
  url: string;
  port: number;
  /** Received requests, oldest first. */
  requests: Array<{
    method: string;
    path: string;
    headers: http.IncomingHttpHeaders;
    /** All of it once the request has come in whole. */
    body: string;
  }>;
  connections(): number;
  /** From now on requests are answered by this. */
  answerWith(handler: http.RequestListener): void;
  /** Stops listening and cuts every connection: the port refuses from now on. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  startAgain(): Promise<void>;
}

/** Starts a target; with `tls` (key and certificate, PEM) it speaks https; `host` is another loopback address. Call inside a test. */
export async function startWebTarget(
  handler: http.RequestListener = (_request, response) => response.end('fine'),
  options: { tls?: string; host?: string } = {},
): Promise<WebTarget> {
  const { host = '127.0.0.1' } = options;
  let answer = handler;
  let connections = 0;
  const requests: WebTarget['requests'] = [];
  const listener: http.RequestListener = (request, response) => {
    const seen = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: '',
    };
    requests.push(seen);
    request.on('data', (chunk) => {
      seen.body += chunk;
    });
    answer(request, response);
  };
  const server = options.tls
    ? https.createServer({ key: options.tls, cert: options.tls }, listener)
    : http.createServer(listener);
  server.on('connection', () => {
    connections += 1;
  });
  const listen = async (port: number) => {
    server.listen(port, host);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const stop = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    await holdRefused(port, host);
  };
  const port = await listen(0);
  onTestFinished(stop);
  return {
    url: `${options.tls ? 'https' : 'http'}://${host}:${port}`,
    port,
    requests,
    connections: () => connections,
    answerWith: (next) => {
      answer = next;
    },
    stop,
    startAgain: async () => void (await listen(port)),
  };
}

/** A server that passes each connection to `handle`. Call inside a test. */
export async function startRawTarget(
  handle: (socket: net.Socket) => void,
): Promise<{ url: string; port: number; closed: () => number }> {
  const sockets = new Set<net.Socket>();
  let closed = 0;
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      closed += 1;
    });
    handle(socket);
    // Read on, or the other side's end would never be noticed.
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    const done = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await done;
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, closed: () => closed };
}

/** A port of 127.0.0.1 on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = net.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const done = once(server, 'close');
  server.close();
  await done;
  await holdRefused(port);
  return port;
}
