import { HttpError } from '../http/errors.ts';
import type { HttpReply, HttpServer } from '../http/server.ts';
import type { Guards } from './safety.ts';
import type { StatusLooks } from './status-looks.ts';
import type { StatusStreams } from './status-streams.ts';
import type { StatusWriter } from './status-writer.ts';

/** Adds the routes of the status page. */
export function addStatusRoutes(
  server: HttpServer,
  guards: Guards,
  parts: { looks: StatusLooks; writer: StatusWriter; streams: StatusStreams },
): void {
  const { looks, writer, streams } = parts;

  server.get(
    '/status.json',
    { schema: { hide: true }, onRequest: guards.fetch },
    async (_request, reply) => {
      reply.type('application/json; charset=utf-8').header('cache-control', 'private, no-cache');
      return await writer.report(await looks.current(), 'member');
    },
  );

  server.get(
    '/status/events',
    { schema: { hide: true }, onRequest: guards.fetch },
    async (_request, reply) => {
      if (!streams.hasRoom('member')) throw tooManyStreams();
      await streams.open(beginStream(reply), 'member');
    },
  );
}

const tooManyStreams = () =>
  new HttpError(503, 'too_many_streams', 'Too many open pages. Close some, or try again.', {
    headers: { 'retry-after': '10' },
  });

/** Writes the head of an event stream, and hands its rest over. */
function beginStream(reply: HttpReply) {
  reply.hijack();
  reply.header('content-type', 'text/event-stream; charset=utf-8');
  reply.header('cache-control', 'no-store');
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.writeHead(200);
  return reply.raw;
}
