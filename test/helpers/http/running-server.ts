import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { createServer, type ServerKit } from '../../../src/http/server.ts';
import { recordingLog } from '../recording-log.ts';
import type { AtEnd } from '../temporary-folder.ts';

/** A server of the kit with the routes of a test, listening on loopback until the test has finished, or as `atEnd` says. */
export async function runningServer(
  addRoutes: (kit: ServerKit) => void = () => {},
  options: { trustedProxies?: readonly string[]; openFiles?: number } = {},
  atEnd: AtEnd = onTestFinished,
) {
  const { log, lines } = recordingLog();
  const kit = await createServer({ log, version: '9.8.7', ...options });
  addRoutes(kit);
  const url = await kit.listen({ host: '127.0.0.1', port: 0 });
  atEnd(() => kit.close());
  const ask = async (path: string, init?: RequestInit) => {
    const answer = await fetch(url + path, init);
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json');
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    };
  };
  return { kit, url, lines, ask, sendRaw: (bytes: string) => sendRaw(url, bytes) };
}

/** Sends bytes as they are and gives back all that comes until the server ends the connection. */
export async function sendRaw(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(bytes);
  return await textOf(socket);
}

/** A POST of something as JSON. */
export function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}
