import { z } from 'zod';
import type { Suggestion } from '../../bot/commands/suggest.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type { HttpServer } from '../../http/server-types.ts';
import { type Guards, guarded } from '../login/guards.ts';
import {
  ButtonPress,
  type ConsoleInteraction,
  type ConsolePerson,
  type ConsoleSnapshot,
  Dismissal,
  FormSubmission,
  GivenFile,
  type InteractionOutcome,
  type ListedMessage,
  type Message,
  Named,
  type OlderMessages,
  type ShownFile,
  TypedLine,
} from '../shared/api-types.ts';
import { beginStream } from '../shared/event-stream.ts';
import { MAX_FILE_BYTES } from '../shared/file-limits.ts';
import { type GrowingAnswers, threadGone } from './answers.ts';
import type { ConsoleChannels } from './channels.ts';
import type { EventStreams } from './event-streams.ts';
import type { ConsoleFiles } from './files.ts';
import { type ChatHistory, listedOf } from './history.ts';
import type { People } from './people.ts';
import type { PrivateMessages } from './private-messages.ts';

const ThreadPath = z.object({ id: z.string().min(1).max(100) });
const FilePath = z.object({ id: z.uuid() });
const DocumentPath = ThreadPath.extend({ message: z.string().min(1).max(100) });
const ChannelPath = z.object({ channel: z.string().min(1).max(50) });
const OlderQuery = z.object({ before: z.string().min(1).max(100) });
const SuggestQuery = z.object({ input: z.string().max(50), typed: z.string().max(300) });

export interface Playground {
  streams: EventStreams;
  people: People;
  channels: ConsoleChannels;
  history: ChatHistory;
  privates: PrivateMessages;
  answers: GrowingAnswers;
  files: ConsoleFiles;
  snapshotFor(person: string): ConsoleSnapshot;
  /** Passes an interaction to the bot, and resolves to the place of its reply. Throws `HttpError`. */
  accept(interaction: ConsoleInteraction, by: ConsolePerson): Promise<InteractionOutcome>;
  suggest(input: string, typed: string): Promise<Suggestion[]>;
}

/** The playground of this process; throws a 503 `not_open` without one. */
type Current = () => Playground;

/**
 * Adds the routes for the page's script. `isPlaygroundPath` must hold for each path. `onInteraction` is called after each line,
 * press and form.
 */
export function addPlaygroundRoutes(
  server: HttpServer,
  guards: Guards,
  current: Current,
  onInteraction: () => void,
): void {
  addEventRoute(server, guards, current);
  addReadingRoutes(server, guards, current);
  addInteractionRoutes(server, guards, current, onInteraction);
  addFileRoutes(server, guards, current);
  addNamingRoutes(server, guards, current);
}

function addEventRoute(server: HttpServer, guards: Guards, current: Current) {
  server.get('/console/events', guarded(guards.fetch), async (request, reply) => {
    const { streams, people, snapshotFor } = current();
    if (!streams.hasRoom()) throw tooManyStreams();
    const { id: person } = await people.visit(request, reply);
    // Other streams may have opened in the meantime.
    if (!streams.hasRoom()) throw tooManyStreams();
    streams.open(beginStream(reply), person, snapshotFor(person));
  });
}

const tooManyStreams = () =>
  new HttpError(503, 'too_many_streams', 'Too many pages are open. Close some and try again.');

function addReadingRoutes(server: HttpServer, guards: Guards, current: Current) {
  server.get(
    '/console/threads/:id',
    guarded(guards.fetch, { params: ThreadPath }),
    async (request, reply): Promise<{ listed: ListedMessage; replies: Message[] }> => {
      const { people, history, privates, answers } = current();
      const { id } = request.params;
      const reader = people.idOf(request, reply);
      const root = history.get(id);
      if (!root) throw threadGone();
      const replies = [...root.replies, ...privates.replies(reader, id)];
      return {
        listed: listedOf(root),
        replies: replies.map(answers.latest).sort((a, b) => a.atMs - b.atMs),
      };
    },
  );
  server.get(
    '/console/threads/:id/documents/:message',
    guarded(guards.fetch, { params: DocumentPath }),
    async ({ params }, reply): Promise<string> => {
      const { history, answers } = current();
      const message = history.find(params.id, params.message);
      const body = message && answers.latest(message).body;
      const document = body?.kind === 'answer' ? body.document : undefined;
      if (!document) throw notFound('This file was deleted to make room for newer messages.');
      // A browser must not show the file as a page.
      reply.header('content-disposition', `attachment; filename="${document.name}"`);
      reply.type('text/markdown; charset=utf-8');
      return document.text;
    },
  );
  server.get(
    '/console/channels/:channel/messages',
    guarded(guards.fetch, { params: ChannelPath, querystring: OlderQuery }),
    async ({ params, query }): Promise<OlderMessages> =>
      current().history.before(params.channel, query.before),
  );
  server.get(
    '/console/suggestions',
    guarded(guards.fetch, { querystring: SuggestQuery }),
    async ({ query }): Promise<Suggestion[]> => await current().suggest(query.input, query.typed),
  );
}

function addInteractionRoutes(
  server: HttpServer,
  guards: Guards,
  current: Current,
  onInteraction: () => void,
) {
  const bodies = { sayings: TypedLine, presses: ButtonPress, forms: FormSubmission };
  for (const [name, body] of Object.entries(bodies)) {
    server.post(
      `/console/${name}`,
      guarded(guards.write, { body }),
      async (request, reply): Promise<InteractionOutcome> => {
        const { people, channels, accept } = current();
        const person = await people.of(request, reply);
        const { channel } = request.body;
        if (!channels.has(channel)) throw notFound('There is no such channel.');
        const outcome = await accept(request.body, person);
        onInteraction();
        return outcome;
      },
    );
  }
  server.post(
    '/console/dismissals',
    guarded(guards.write, { body: Dismissal }),
    async (request, reply) => {
      const { people, privates } = current();
      privates.remove(people.idOf(request, reply), request.body.message);
      return {};
    },
  );
}

/** The file in base64, and the body's other fields. */
const FILE_BODY_BYTES = Math.ceil(MAX_FILE_BYTES / 3) * 4 + 10_000;

function addFileRoutes(server: HttpServer, guards: Guards, current: Current) {
  server.post(
    '/console/files',
    { ...guarded(guards.write, { body: GivenFile }), bodyLimit: FILE_BODY_BYTES },
    async (request, reply): Promise<ShownFile> => {
      const { people, channels, files } = current();
      const person = await people.of(request, reply);
      const { channel, name, data } = request.body;
      if (!channels.has(channel)) throw notFound('There is no such channel.');
      const bytes = Buffer.from(data, 'base64');
      return await files.add({ channel, person: person.id, name, bytes });
    },
  );
  server.get(
    '/console/files/:id',
    guarded(guards.fetch, { params: FilePath }),
    async (request, reply) => {
      const { files } = current();
      const { name, mediaType, bytes } = await files.fetch(request.params.id);
      const isPicture = mediaType.startsWith('image/');
      // Only images are shown inline: a text file could be an HTML page.
      reply.header('content-type', isPicture ? mediaType : 'application/octet-stream');
      const how = isPicture ? 'inline' : 'attachment';
      const encoded = encodeURIComponent(name).replace(/['()*]/g, escapeByte);
      reply.header('content-disposition', `${how}; filename*=UTF-8''${encoded}`);
      return await reply.send(bytes);
    },
  );
}

/** `encodeURIComponent` keeps some characters that a header must not have. */
const escapeByte = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

function addNamingRoutes(server: HttpServer, guards: Guards, current: Current) {
  const route = guarded(guards.write, { body: Named });
  server.post('/console/name', route, async (request, reply): Promise<ConsolePerson> => {
    const { people } = current();
    return await people.rename(await people.of(request, reply), request.body.name);
  });
  server.post('/console/channels', route, async (request) => ({
    channel: await current().channels.create(request.body.name),
  }));
}
