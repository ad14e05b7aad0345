import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** Interval of the health checks. */
const CHECK_EVERY_MS = 250;

/**
 * A load balancer in front of processes: each request goes to the next one that said last that it is ready, and to another one only
 * if nobody listens there.
 */
export async function startBalancer(urls: () => readonly string[]) {
  const ready = new Set<string>();
  let isOver = false;
  let turn = 0;

  async function check(url: string) {
    const signal = AbortSignal.timeout(2_000);
    const isReady = await fetch(`${url}/readyz`, { signal }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) ready.add(url);
    else ready.delete(url);
  }
  const checking = (async () => {
    while (!isOver) {
      await Promise.all(urls().map(check));
      for (const url of ready) if (!urls().includes(url)) ready.delete(url);
      await pause(CHECK_EVERY_MS);
    }
  })();

  function forward(incoming: IncomingMessage, outgoing: ServerResponse, left: Set<string>) {
    const all = [...left];
    turn += 1;
    const url = all[turn % all.length];
    if (url === undefined) return void outgoing.writeHead(502).end();
    left.delete(url);
    const { method, url: path, rawHeaders: headers } = incoming;
    const { hostname, port } = new URL(url);
    const sent = request({ hostname, port, method, path, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      // The first event may be long in coming.
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      answer.once('error', () => outgoing.destroy());
    });
    let isConnected = false;
    sent.once('socket', (socket) =>
      socket.once('connect', () => {
        isConnected = true;
        incoming.pipe(sent);
      }),
    );
    sent.once('error', () => {
      if (!isConnected) forward(incoming, outgoing, left);
      else if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end();
    });
    outgoing.once('close', () => sent.destroy());
  }

  const server = createServer((incoming, outgoing) =>
    forward(incoming, outgoing, new Set(ready.size > 0 ? ready : urls())),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    isOver = true;
    server.closeAllConnections();
    server.close();
    await checking;
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
