import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A caller over a bare connection, that sends and does what no client library would. */
export interface RawCaller {
  socket: Socket;
  /** All that came so far. */
  received(): string;
  /** Returns the last characters and the total length. Cheap to call repeatedly, even for megabytes. */
  tail(): string;
  length(): number;
  /** Resolves when the gateway has closed the connection. */
  closed: Promise<void>;
}

const TAIL_CHARACTERS = 64;

/** Connects, and sends nothing yet. */
export async function connectCaller(
  url: string,
  options: { allowHalfOpen?: boolean } = {},
): Promise<RawCaller> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const received: string[] = [];
  let tail = '';
  let length = 0;
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    received.push(text);
    length += text.length;
    tail = (tail + text).slice(-TAIL_CHARACTERS);
  });
  // A connection that breaks says so by closing, too.
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return {
    socket,
    received: () => received.join(''),
    tail: () => tail,
    length: () => length,
    closed,
  };
}

export interface RequestLines {
  method?: string;
  path?: string;
  version?: string;
  /** Added to, or instead of, those a good request has; `undefined` leaves one out. */
  headers?: Record<string, string | undefined>;
  body?: string;
}

/** The bytes of a request to the chat route, good unless told otherwise. */
export function chatRequest(key: string, body: unknown, lines: RequestLines = {}): string {
  const text = lines.body ?? JSON.stringify(body);
  const { method = 'POST', path = '/v1/chat/completions', version = '1.1' } = lines;
  const headers = {
    host: 'x',
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    ...lines.headers,
  };
  const head = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}\r\n`],
  );
  return `${method} ${path} HTTP/${version}\r\n${head.join('')}\r\n${text}`;
}
