import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A wire between a browser and a server that can be cut. */
export interface BreakableProxy {
  url: string;
  /** Ends what is open and refuses what comes, until `mend`. */
  cut(): void;
  mend(): void;
}

/** Passes bytes on to `url` as they are. */
export async function startBreakableProxy(url: string): Promise<BreakableProxy> {
  const sockets = new Set<Socket>();
  let broken = false;
  const server = createServer((near) => {
    if (broken) return void near.destroy();
    const far = connect(Number(new URL(url).port), '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    broken = true;
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    mend() {
      broken = false;
    },
  };
}
