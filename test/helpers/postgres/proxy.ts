import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Message type of a NOTIFY event. */
const NOTIFICATION = 'A'.charCodeAt(0);

/** Loses the next answer to a statement with some text in it, together with its connection. */
export interface LosingAnswers {
  /** Empty when nothing is to be lost. */
  text: string;
}

interface ProxyOptions {
  passesNotifications?: boolean;
  delayMs?: number;
  losing?: LosingAnswers;
}

/**
 * Stands between a program and PostgreSQL. What one listens for does not come through, as behind a pooler that gives each
 * transaction another connection; with `delayMs` every answer comes that much later. Gives the address to use.
 */
export async function startProxy(url: string, options: ProxyOptions = {}): Promise<string> {
  return (await startCuttableProxy(url, options)).url;
}

/** A proxy that can cut the program off and reconnect it. */
export async function startCuttableProxy(
  url: string,
  {
    passesNotifications = false,
    delayMs: delayAtFirstMs = 0,
    losing = { text: '' },
  }: ProxyOptions = {},
) {
  let delayMs = delayAtFirstMs;
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
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
  return {
    url: own.href,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    isCut: () => isCut,
    /** From now on every answer comes so much later. */
    delay(ms: number) {
      delayMs = ms;
    },
    restore() {
      isCut = false;
    },
  };
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
