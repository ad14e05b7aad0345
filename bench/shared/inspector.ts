import { once } from 'node:events';
import { WebSocket } from 'ws';

/** Heap sizes in bytes. */
export interface Heap {
  usedBytes: number;
}

/** Opens the inspector of a program on a free port, which it prints. */
export const INSPECT = '--inspect=127.0.0.1:0';
/** Finds that port when the program has printed what `ready` matches. */
export const inspectorPort = (ready: string) =>
  new RegExp(`Debugger listening on ws://127\\.0\\.0\\.1:(\\d+)/[^]*${ready}`);

/**
 * Collects the garbage of the program whose inspector is on this port, and gives what is left.
 * Source: Chrome DevTools Protocol, `HeapProfiler.collectGarbage` and `Runtime.getHeapUsage`.
 */
export async function heapAfterCollection(port: number): Promise<Heap> {
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as Array<{
    webSocketDebuggerUrl: string;
  }>;
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? '');
  await once(socket, 'open');
  async function call(id: number, method: string) {
    socket.send(JSON.stringify({ id, method }));
    for (;;) {
      const [data] = await once(socket, 'message');
      const answer = JSON.parse(String(data)) as { id?: number; result?: { usedSize?: number } };
      if (answer.id === id) return answer.result;
    }
  }
  // Objects that finalizers release are collected only the second time.
  await call(1, 'HeapProfiler.collectGarbage');
  await call(2, 'HeapProfiler.collectGarbage');
  const usage = await call(3, 'Runtime.getHeapUsage');
  socket.terminate();
  if (usage?.usedSize === undefined) throw new Error('The inspector did not tell the heap.');
  return { usedBytes: usage.usedSize };
}
