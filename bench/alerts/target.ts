import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A web server with a page for each monitor, which can be turned bad and good again. */
export interface AlertTarget {
  url(number: number): string;
  /** Pages that were asked for so far. */
  asked(): number;
  turn(number: number, to: 'bad' | 'good'): void;
  close(): Promise<void>;
}

export async function startTarget(): Promise<AlertTarget> {
  const bad = new Set<string>();
  const asked = new Set<string>();
  const pathOf = (number: number) => `/m/${number}`;
  const server = createServer(({ url = '' }, response) => {
    asked.add(url);
    response.writeHead(bad.has(url) ? 503 : 200).end();
  });
  server.listen({ host: '127.0.0.1', port: 0, backlog: 1024 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (number) => `http://127.0.0.1:${port}${pathOf(number)}`,
    asked: () => asked.size,
    turn(number, to) {
      if (to === 'bad') bad.add(pathOf(number));
      else bad.delete(pathOf(number));
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
