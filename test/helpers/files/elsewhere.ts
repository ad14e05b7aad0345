import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A host that belongs to no platform; it serves a text and records requests. */
export async function startElsewhere() {
  const heard: Array<{ path: string | undefined; authorization: string | undefined }> = [];
  const server = createServer((request, response) => {
    heard.push({ path: request.url, authorization: request.headers.authorization });
    response.end('from elsewhere');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}
