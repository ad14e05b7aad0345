import { z } from 'zod';
import type { Suggestion } from '../../bot/commands/suggest.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type { HttpServer } from '../../http/server-types.ts';
import type { Guards } from '../login/guards.ts';
import {
  ButtonPress,
  Dismissal,
  type Interaction,
  type ListedMessage,
  type Message,
  Named,
  type OlderMessages,
  type Outcome,
  type Someone,
  SubmittedForm,
  TypedLine,
} from '../shared/api-types.ts';
import { beginStream } from '../shared/event-stream.ts';
import type { ConsoleChannels } from './channels.ts';
import type { EventStreams } from './event-streams.ts';
import type { History } from './history.ts';
import type { People } from './people.ts';

const EventsQuery = z.object({
  /** The last event received, for browsers whose own reconnect was refused once. */
  after: z.string().max(50).optional(),
});

const ThreadPath = z.object({ id: z.string().min(1).max(100) });
const ChannelPath = z.object({ channel: z.string().min(1).max(50) });
const OlderQuery = z.object({ before: z.string().min(1).max(100) });
const SuggestQuery = z.object({ input: z.string().max(50), typed: z.string().max(300) });

/** A thread as the page opens it. */
export interface OpenedThread {
  listed: ListedMessage;
  replies: Message[];
}

/** What the routes ask for. */
export interface RouteActions {
  streams: EventStreams;
  people: People;
  channels: ConsoleChannels;
  history: Pick<History, 'before'>;
  /** As this person sees it; `undefined` when it is gone. */
  thread(id: string, person: string): OpenedThread | undefined;
  /** Throws `HttpError`. */
  accept(interaction: Interaction, by: Someone): Promise<Outcome>;
  dismiss(by: string, message: string): void;
  /** What to offer somebody who types into an input. */
  suggest(input: string, typed: string): Promise<Suggestion[]>;
  /** False before the bot is there and after the console has stopped. */
  isOpen(): boolean;
}

/** Adds what the page's script talks to. */
export function addConsoleRoutes(server: HttpServer, guards: Guards, actions: RouteActions): void {
  addEventRoute(server, guards, actions);
  addReadingRoutes(server, guards, actions);
  addInteractionRoutes(server, guards, actions);
  addNamingRoutes(server, guards, actions);
}

function requireOpen({ isOpen }: RouteActions) {
  if (isOpen()) return;
  throw new HttpError(503, 'not_open', 'Askwatch is starting or stopping. Try again.', {
    headers: { 'retry-after': '1' },
  });
}

function addEventRoute(server: HttpServer, guards: Guards, actions: RouteActions) {
  const { streams, people } = actions;
  server.get(
    '/console/events',
    { schema: { hide: true, querystring: EventsQuery }, onRequest: guards.fetch },
    async (request, reply) => {
      requireOpen(actions);
      const header = request.headers['last-event-id'];
      const lastEventId = typeof header === 'string' ? header : request.query.after;
      if (!streams.hasRoom()) throw tooManyStreams();
      const person = await people.visit(request, reply);
      // Others may have come while this one was stored.
      if (!streams.hasRoom()) throw tooManyStreams();
      streams.open(beginStream(reply), { person: person.id, lastEventId });
    },
  );
}

const tooManyStreams = () =>
  new HttpError(503, 'too_many_streams', 'Too many open pages. Close some.');

function addReadingRoutes(server: HttpServer, guards: Guards, actions: RouteActions) {
  const { people, history } = actions;
  const onRequest = guards.fetch;
  server.get(
    '/console/threads/:id',
    { schema: { hide: true, params: ThreadPath }, onRequest },
    async (request, reply): Promise<OpenedThread> => {
      const thread = actions.thread(request.params.id, people.idOf(request, reply));
      if (!thread) throw notFound('This thread is gone: it made room for newer messages.');
      return thread;
    },
  );
  server.get(
    '/console/channels/:channel/messages',
    { schema: { hide: true, params: ChannelPath, querystring: OlderQuery }, onRequest },
    async ({ params, query }): Promise<OlderMessages> =>
      history.before(params.channel, query.before),
  );
  server.get(
    '/console/suggestions',
    { schema: { hide: true, querystring: SuggestQuery }, onRequest },
    async ({ query }): Promise<Suggestion[]> => await actions.suggest(query.input, query.typed),
  );
}

function addInteractionRoutes(server: HttpServer, guards: Guards, actions: RouteActions) {
  const bodies = { sayings: TypedLine, presses: ButtonPress, forms: SubmittedForm };
  for (const [name, body] of Object.entries(bodies)) {
    server.post(
      `/console/${name}`,
      { schema: { hide: true, body }, onRequest: guards.write },
      async (request, reply): Promise<Outcome> => {
        requireOpen(actions);
        return await actions.accept(request.body, await actions.people.of(request, reply));
      },
    );
  }
  server.post(
    '/console/dismissals',
    { schema: { hide: true, body: Dismissal }, onRequest: guards.write },
    async (request, reply) => {
      actions.dismiss(actions.people.idOf(request, reply), request.body.message);
      return {};
    },
  );
}

function addNamingRoutes(server: HttpServer, guards: Guards, { people, channels }: RouteActions) {
  const options = { schema: { hide: true, body: Named }, onRequest: guards.write };
  server.post('/console/name', options, async (request, reply): Promise<Someone> => {
    return await people.rename(await people.of(request, reply), request.body.name);
  });
  server.post('/console/channels', options, async (request) => ({
    channel: await channels.create(request.body.name),
  }));
}
