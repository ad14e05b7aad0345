import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request over a bare connection, to be answered with any bytes or none. */
export interface RawCall {
  path: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  body: any;
  socket: Socket;
  /** Writes bytes, waiting while the other side takes none; false once the connection has closed. */
  write(bytes: Buffer | string): Promise<boolean>;
}

/** Handles a call. When it resolves, an open connection may carry the next call. */
export type RawAnswer = (call: RawCall) => Promise<void> | void;

/** A server that parses requests correctly and sends scripted bytes. */
export interface BrokenUpstream {
  /** `http://127.0.0.1:port` */
  url: string;
  /** Every call, oldest first. */
  calls: RawCall[];
  /** Connections that are open now. */
  open(): number;
  /** Connections with an unfinished response. */
  busy(): number;
  /** How calls are answered from now on. */
  answerWith(answer: RawAnswer): void;
  /** Closes every connection and refuses new ones, until `startAgain`. */
  stop(): Promise<void>;
  startAgain(): Promise<void>;
}

/** Starts an upstream that goes away with the running test. */
export async function startBrokenUpstream(answer: RawAnswer): Promise<BrokenUpstream> {
  let answerNow = answer;
  const calls: RawCall[] = [];
  const sockets = new Set<Socket>();
  const busy = new Set<Socket>();

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    // A connection that breaks says so by closing, too.
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      busy.delete(socket);
    });
    readRequests(socket, (path, body) => void serve(socket, path, body));
  });

  async function serve(socket: Socket, path: string, body: unknown): Promise<void> {
    const call: RawCall = {
      path,
      body,
      socket,
      write: (bytes) => write(socket, bytes),
    };
    calls.push(call);
    busy.add(socket);
    await answerNow(call);
    busy.delete(socket);
  }

  async function listen(port: number): Promise<void> {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  }
  await listen(0);
  const { port } = server.address() as AddressInfo;
  async function stop(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
  onTestFinished(stop);
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    open: () => sockets.size,
    busy: () => busy.size,
    answerWith(next) {
      answerNow = next;
    },
    stop,
    startAgain: () => listen(port),
  };
}

/** Parses the requests of a connection; all have a Content-Length. */
function readRequests(socket: Socket, tell: (path: string, body: unknown) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on('data', (part) => {
    bytes = Buffer.concat([bytes, part]);
    for (;;) {
      const headEnd = bytes.indexOf('\r\n\r\n');
      if (headEnd === -1) return;
      const head = bytes.toString('latin1', 0, headEnd);
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      const end = headEnd + 4 + length;
      if (bytes.length < end) return;
      const body = bytes.toString('utf8', headEnd + 4, end);
      bytes = bytes.subarray(end);
      tell(head.split(' ')[1] ?? '', body === '' ? undefined : JSON.parse(body));
    }
  });
}

async function write(socket: Socket, bytes: Buffer | string): Promise<boolean> {
  if (!socket.destroyed && !socket.write(bytes)) {
    await new Promise<void>((resolve) => {
      const done = () => {
        socket.off('drain', done).off('close', done);
        resolve();
      };
      socket.on('drain', done).on('close', done);
    });
  }
  return !socket.destroyed;
}
