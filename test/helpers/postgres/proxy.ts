import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Message type of a NOTIFY event. */
const NOTIFICATION = 'A'.charCodeAt(0);

interface ProxyOptions {
  passesNotifications?: boolean;
  delayMs?: number;
  /** Loses the next answer to a statement with this text in it, together with its connection; empty for none. */
  losing?: { text: string };
}

/**
 * Stands between a program and PostgreSQL. What one listens for does not come through, as behind a pooler that gives each
 * transaction another connection; with `delayMs` every answer comes that much later. Gives the address to use.
 */
export async function startProxy(
  url: string,
  { passesNotifications = false, delayMs = 0, losing = { text: '' } }: ProxyOptions = {},
): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    let isToBeLost = false;
    client.on('data', (chunk: Buffer) => {
      if (losing.text === '' || !chunk.includes(losing.text)) return;
      losing.text = '';
      isToBeLost = true;
    });
    client.pipe(upstream);
    let rest: Buffer = Buffer.alloc(0);
    upstream.on('data', (chunk: Buffer) => {
      if (isToBeLost) {
        client.destroy();
        upstream.destroy();
        return;
      }
      let given = chunk;
      if (!passesNotifications) {
        const { passed, left } = withoutNotifications(Buffer.concat([rest, chunk]));
        rest = left;
        given = passed;
      }
      setTimeout(() => client.write(given), delayMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const own = new URL(url);
  own.port = String(address.port);
  return own.href;
}

/** The whole messages in some bytes but those, and what has only begun. */
function withoutNotifications(bytes: Buffer): { passed: Buffer; left: Buffer } {
  const passed: Buffer[] = [];
  let at = 0;
  while (at + 5 <= bytes.length) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    if (end > bytes.length) break;
    if (bytes[at] !== NOTIFICATION) passed.push(bytes.subarray(at, end));
    at = end;
  }
  return { passed: Buffer.concat(passed), left: bytes.subarray(at) };
}
