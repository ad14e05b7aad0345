import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Web sites, each at a path, that are up or down as told. */
export async function startSites() {
  const down = new Set<string>();
  const server = createServer((request, response) => {
    response.writeHead(down.has(request.url ?? '') ? 503 : 200).end();
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const pathOf = (name: string) => `/${encodeURIComponent(name)}`;
  return {
    addressOf: (name: string) => `http://127.0.0.1:${port}${pathOf(name)}`,
    set(name: string, isDown: boolean) {
      if (isDown) down.add(pathOf(name));
      else down.delete(pathOf(name));
    },
  };
}
