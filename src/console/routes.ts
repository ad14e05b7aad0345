import { z } from 'zod';
import { HttpError, notFound } from '../http/errors.ts';
import type { HttpServer } from '../http/server.ts';
import type { EventStreams } from './event-streams.ts';
import type { Guards } from './safety.ts';
import { type ListedMessage, type Message, Press, type Said, Saying } from './wire.ts';

const EventsQuery = z.object({
  client: z.uuid(),
  /** The last event heard, for browsers whose own reconnect was refused once. */
  after: z.string().max(50).optional(),
});

const ThreadPath = z.object({ id: z.string().min(1).max(100) });

/** A thread as the page opens it. */
export interface OpenedThread {
  listed: ListedMessage;
  replies: Message[];
}

/** What the routes ask for. */
export interface RouteActions {
  streams: EventStreams;
  /** `undefined` when it is gone. */
  thread(id: string): OpenedThread | undefined;
  /** Throws `HttpError`. */
  take(gesture: Saying | Press): Promise<Said>;
  /** False before the bot is there and after the console has stopped. */
  isOpen(): boolean;
}

/** Adds what the page's script talks to. */
export function addConsoleRoutes(server: HttpServer, guards: Guards, actions: RouteActions): void {
  const { streams } = actions;

  function requireOpen() {
    if (actions.isOpen()) return;
    throw new HttpError(503, 'not_open', 'Askwatch is starting or stopping. Try again.', {
      headers: { 'retry-after': '1' },
    });
  }

  server.get(
    '/console/events',
    { schema: { hide: true, querystring: EventsQuery }, onRequest: guards.fetch },
    (request, reply) => {
      requireOpen();
      const { client, after } = request.query;
      const header = request.headers['last-event-id'];
      const lastEventId = typeof header === 'string' ? header : after;
      if (!streams.hasRoom()) {
        throw new HttpError(503, 'too_many_streams', 'Too many open pages. Close some.');
      }
      reply.hijack();
      reply.header('content-type', 'text/event-stream; charset=utf-8');
      reply.header('cache-control', 'no-store');
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      reply.raw.writeHead(200);
      streams.open(reply.raw, { client, lastEventId });
    },
  );

  server.get(
    '/console/threads/:id',
    { schema: { hide: true, params: ThreadPath }, onRequest: guards.fetch },
    async (request, reply): Promise<OpenedThread> => {
      reply.header('cache-control', 'no-store');
      const thread = actions.thread(request.params.id);
      if (!thread) throw notFound('This thread is gone: it made room for newer messages.');
      return thread;
    },
  );

  server.post(
    '/console/sayings',
    { schema: { hide: true, body: Saying }, onRequest: guards.write },
    async (request): Promise<Said> => {
      requireOpen();
      return await actions.take(request.body);
    },
  );

  server.post(
    '/console/presses',
    { schema: { hide: true, body: Press }, onRequest: guards.write },
    async (request): Promise<Said> => {
      requireOpen();
      return await actions.take(request.body);
    },
  );
}
