import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/** Longer than a test goes on after it closed a server. */
const HELD_MS = 10_000;

/**
 * Keeps a port of this machine that a server has given up from the servers of the tests that run beside: one of them that asks
 * for any free port could get it, and answer where the test means that nobody does. Who connects is refused, and a server
 * that names the port has it. It is held as the near end of a connection, since the system gives out no such port.
 */
export async function holdRefused(port: number, host = '127.0.0.1'): Promise<void> {
  const far = createServer().listen(0, host).unref();
  await once(far, 'listening');
  const near = connect({
    host,
    port: (far.address() as AddressInfo).port,
    localAddress: host,
    localPort: port,
  }).unref();
  try {
    await once(near, 'connect');
    setTimeout(() => near.destroy(), HELD_MS).unref();
  } catch (error) {
    // Since the server gave it up, the system has made it the near end of somebody's connection, which holds it as well.
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
  } finally {
    far.close();
  }
}
