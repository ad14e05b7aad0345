import { MessageFlags, MessageType, PermissionFlagsBits } from 'discord.js';
import { directoryRoute } from './directory.ts';
import type { createGateway } from './gateway.ts';
import type { RestAnswer, RestRequest } from './http.ts';
import type { Interactions } from './interactions.ts';
import { checkCommands, checkMessage, type Refusal, refusal } from './limits.ts';
import {
  type DiscordState,
  type FakeChannel,
  type FakeMessage,
  type MessageBody,
  snowflake,
} from './state.ts';
import { ARCHIVED, createThreads } from './threads.ts';
import { readMessage, wireMessage } from './wire.ts';

/** A command as Discord keeps it. */
export interface RegisteredCommand {
  id: string;
  name: string;
  options?: RegisteredCommand[];
  [key: string]: unknown;
}

/** Settings that a test may change at run time. */
export interface RouteSettings {
  token: string;
  /** Lifetime of a nonce; "a few minutes" at Discord. */
  nonceWindowMs: number;
  messageContentAllowed: boolean;
  interactionsEndpointUrl: string | null;
}

/**
 * Edits of messages older than an hour that Discord takes in a channel. It writes down neither figure; these are what bots
 * meet. Sources: Discord docs, JSON error code 30046; starboard-4 issue 118.
 */
const OLD_MS = 3_600_000;
const OLD_EDITS = 3;
const OLD_WINDOW_MS = 20_000;
const TOO_MANY_OLD_EDITS = refusal(
  400,
  30_046,
  'Maximum number of edits to messages older than 1 hour reached. Try again later',
);

const ok = (body?: unknown, status = body === undefined ? 204 : 200): RestAnswer => ({
  status,
  body,
});
const refuse = ({ status, ...body }: Refusal): RestAnswer => ({ status, body });

/** The REST routes a bot of our kind uses; `undefined` for any other. */
export function createRoutes(options: {
  state: DiscordState;
  gateway: ReturnType<typeof createGateway>;
  interactions: Interactions;
  commands: Map<string, RegisteredCommand[]>;
  settings: RouteSettings;
  gatewayUrl(): string;
}) {
  const { state, gateway, interactions, commands, settings } = options;
  const threads = createThreads({ state, gateway });
  /** When old messages were edited, by channel. */
  const oldEdits = new Map<string, number[]>();

  return (request: RestRequest): RestAnswer | undefined => {
    const { method, path } = request;
    const interactive = interactions.route(request);
    if (interactive) return interactive;
    if (request.authorization !== `Bot ${settings.token}`) {
      return refuse(refusal(401, 0, '401: Unauthorized'));
    }
    if (method === 'GET' && path === '/gateway/bot') {
      return ok({
        url: options.gatewayUrl(),
        shards: gateway.recommendedShards,
        session_start_limit: {
          ...{ total: 1000, remaining: gateway.sessionsRemaining, reset_after: 1 },
          max_concurrency: gateway.maxConcurrency,
        },
      });
    }
    const listed = directoryRoute(state, request, settings);
    if (listed) return listed.status === 200 ? ok(listed.body) : refuse(listed.refused);
    const [, guild, isCommands] =
      /^\/applications\/\d+(?:\/guilds\/(\d+))?\/(commands)$/.exec(path) ?? [];
    if (isCommands) return commandRoutes(request, guild);
    const [, channelId = '', rest = ''] = /^\/channels\/(\d+)(\/.*)?$/.exec(path) ?? [];
    if (channelId === '') return undefined;
    const channel = state.channels.get(channelId);
    if (!channel) return refuse(refusal(404, 10_003, 'Unknown Channel'));
    return channelRoutes(request, channel, rest);
  };

  function commandRoutes({ method, body }: RestRequest, guild: string | undefined) {
    if (guild !== undefined && !state.guilds().includes(guild)) {
      return refuse(refusal(403, 50_001, 'Missing Access'));
    }
    const scope = guild ?? 'global';
    if (method === 'GET') return ok(commands.get(scope) ?? []);
    if (method !== 'PUT') return undefined;
    const wanted = body as unknown as RegisteredCommand[];
    const wrong = checkCommands(wanted as Parameters<typeof checkCommands>[0]);
    if (wrong) return refuse(wrong);
    // Discord adds fields of its own, and leaves out what is the default.
    const registered = wanted.map((command) => ({
      ...withoutDefaults(command),
      ...(command.type === 3 && { description: '' }),
      id: snowflake(),
      application_id: state.applicationId,
      version: snowflake(),
      default_member_permissions: null,
      nsfw: false,
    }));
    commands.set(scope, registered);
    return ok(registered);
  }

  function channelRoutes(request: RestRequest, channel: FakeChannel, rest: string) {
    const { method } = request;
    const { uploads } = request;
    const body = { ...request.body, uploads } as MessageBody & { name?: string };
    const lacks = lacksIn(channel);
    const isIn = channel.guild_id === undefined || state.guilds().includes(channel.guild_id);
    if (!isIn || lacks(PermissionFlagsBits.ViewChannel))
      return refuse(refusal(403, 50_001, 'Missing Access'));
    if (method === 'GET' && rest === '') {
      const message_count = state.messagesIn(channel.id).length;
      return ok(channel.parent_id === null ? channel : { ...channel, message_count });
    }
    if (method === 'PATCH' && rest === '') return threads.change(channel, request, lacks);
    const forbidden = () => refuse(refusal(403, 50_013, 'Missing Permissions'));
    const content =
      ((body.embeds ?? []).length > 0 && lacks(PermissionFlagsBits.EmbedLinks)) ||
      (uploads.length > 0 && lacks(PermissionFlagsBits.AttachFiles));
    const writing = channel.parent_id
      ? PermissionFlagsBits.SendMessagesInThreads
      : PermissionFlagsBits.SendMessages;
    if (method === 'POST' && rest === '/typing') return lacks(writing) ? forbidden() : ok();
    if (method === 'GET' && rest === '/messages') return list(request, channel, lacks);
    if (method === 'POST' && rest === '/messages') {
      if (lacks(writing) || content) return forbidden();
      const refused = referenceProblem(channel, body, lacks);
      return refused ? refuse(refused) : post(channel, body);
    }
    const [, messageId = '', below = ''] = /^\/messages\/(\d+)(\/threads)?$/.exec(rest) ?? [];
    if (messageId === '') return undefined;
    const message = state.messages.get(messageId);
    // A message that one person sees is there for its interaction only.
    const isEphemeral = ((message?.flags ?? 0) & MessageFlags.Ephemeral) !== 0;
    if (!message || message.channel_id !== channel.id || isEphemeral) {
      return refuse(refusal(404, 10_008, 'Unknown Message'));
    }
    if (method === 'GET' && below === '') {
      if (lacks(PermissionFlagsBits.ReadMessageHistory)) return forbidden();
      return ok(readMessage(state, message, settings.messageContentAllowed));
    }
    if (method === 'PATCH' && below === '') {
      if (content) return forbidden();
      if (channel.thread_metadata?.archived) return refuse(ARCHIVED);
      if (message.author.id !== state.bot.id) {
        return refuse(refusal(403, 50_005, 'Cannot edit a message authored by another user'));
      }
      const wrong = checkMessage(body, 'edit');
      if (wrong) return refuse(wrong);
      if (isEditedTooOften(message)) return refuse(TOO_MANY_OLD_EDITS);
      state.editMessage(message, body);
      gateway.announce('MESSAGE_UPDATE', message);
      return ok(wireMessage(state, message));
    }
    if (method === 'DELETE' && below === '') {
      if (message.author.id !== state.bot.id) return forbidden();
      const told = state.remove(messageId);
      if (told) gateway.dispatch(told.t, told.d, told.intent);
      return ok();
    }
    if (method === 'POST' && below === '/threads') {
      if (lacks(PermissionFlagsBits.CreatePublicThreads)) return forbidden();
      return threads.start(channel, messageId, body.name ?? '');
    }
    return undefined;
  }

  /**
   * Messages, newest first; the one that a thread began under is given inside the thread's own first. Source: Discord docs,
   * "Get Channel Messages", which gives none without the permission to read, and "Message Types".
   */
  function list(
    { query }: RestRequest,
    channel: FakeChannel,
    lacks: (permission: bigint) => boolean,
  ): RestAnswer {
    const limit = Number(query.get('limit') ?? 50);
    if (!(limit >= 1 && limit <= 100)) {
      return refuse(refusal(400, 50_035, 'Invalid Form Body: limit must be 1 to 100'));
    }
    if (lacks(PermissionFlagsBits.ReadMessageHistory)) return ok([]);
    const before = BigInt(query.get('before') ?? 2n ** 63n);
    const starter = state.messages.get(channel.id);
    const read = (message: FakeMessage) =>
      readMessage(state, message, settings.messageContentAllowed);
    const visible = state
      .messagesIn(channel.id)
      .filter(({ flags }) => (flags & MessageFlags.Ephemeral) === 0)
      .map(read);
    if (starter && starter.channel_id === channel.parent_id) {
      const id = String(BigInt(starter.id) + 1n);
      const type = MessageType.ThreadStarterMessage;
      visible.unshift({
        ...read(starter),
        id,
        type,
        content: '',
        referenced_message: read(starter),
      });
    }
    return ok(
      visible
        .reverse()
        .filter(({ id }) => BigInt(String(id)) < before)
        .slice(0, limit),
    );
  }

  /** Counts an edit of a message that is older than an hour. */
  function isEditedTooOften({ channel_id, sentAtMs }: FakeMessage): boolean {
    const nowMs = Date.now();
    if (sentAtMs > nowMs - OLD_MS) return false;
    const recent = (oldEdits.get(channel_id) ?? []).filter((atMs) => atMs > nowMs - OLD_WINDOW_MS);
    const isTooMany = recent.length >= OLD_EDITS;
    oldEdits.set(channel_id, isTooMany ? recent : [...recent, nowMs]);
    return isTooMany;
  }

  /** Source: Discord docs, "Message Reference Structure" and "JSON Error Codes". */
  function referenceProblem(
    channel: FakeChannel,
    { message_reference: reference }: MessageBody,
    lacks: (permission: bigint) => boolean,
  ): Refusal | undefined {
    if (!reference) return undefined;
    if (lacks(PermissionFlagsBits.ReadMessageHistory)) {
      const text = 'Cannot reply without permission to read message history';
      return refusal(403, 160_002, text);
    }
    const { message_id: id, fail_if_not_exists: must = true } = reference;
    if (!must || state.messages.get(id)?.channel_id === channel.id) return undefined;
    return {
      ...refusal(400, 50_035, 'Invalid Form Body'),
      errors: {
        message_reference: {
          _errors: [{ code: 'MESSAGE_REFERENCE_UNKNOWN_MESSAGE', message: 'Unknown message' }],
        },
      },
    };
  }

  function post(channel: FakeChannel, body: MessageBody): RestAnswer {
    const wrong = checkMessage(body, 'post');
    if (wrong) return refuse(wrong);
    if (channel.thread_metadata?.locked) return refuse(ARCHIVED);
    const oldestMs = Date.now() - settings.nonceWindowMs;
    const earlier = state
      .messagesIn(channel.id)
      .find(
        ({ nonce, sentAtMs, author }) =>
          body.enforce_nonce === true &&
          nonce !== undefined &&
          nonce === String(body.nonce) &&
          author.id === state.bot.id &&
          sentAtMs > oldestMs,
      );
    if (earlier) return ok(wireMessage(state, earlier));
    if (channel.thread_metadata?.archived) threads.setArchived(channel, false);
    const message = state.addMessage(channel, state.bot, body);
    gateway.announce('MESSAGE_CREATE', message);
    return ok(wireMessage(state, message));
  }

  function lacksIn(channel: FakeChannel) {
    const permissions = channel.guild_id === undefined ? ~0n : state.permissionsIn(channel);
    return (permission: bigint) => {
      state.checked.add(permission);
      return (permissions & permission) === 0n;
    };
  }
}

function withoutDefaults({ options, required, ...command }: RegisteredCommand): RegisteredCommand {
  return {
    ...command,
    ...(required === true ? { required } : {}),
    ...(options && options.length > 0 ? { options: options.map(withoutDefaults) } : {}),
  };
}
