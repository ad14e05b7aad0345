import {
  InteractionResponseType,
  InteractionType,
  MessageFlags,
  MessageType,
  PermissionFlagsBits,
} from 'discord.js';
import { afterTurns } from '../after-turns.ts';
import { checkForm, type FakeForm } from './forms.ts';
import type { createGateway } from './gateway.ts';
import type { RestAnswer, RestRequest } from './http.ts';
import { checkMessage, checkOffered, type Refusal, refusal } from './limits.ts';
import {
  type DiscordState,
  type FakeChannel,
  type FakeMessage,
  type FakeUser,
  interactionToken,
  type MessageBody,
  snowflake,
} from './state.ts';
import { wireMessage } from './wire.ts';

/** A person's gesture: slash command (type 2), autocomplete (4), button (3) or form (5). */
export interface FakeGesture {
  type: Exclude<InteractionType, InteractionType.Ping>;
  data: unknown;
  message?: FakeMessage;
}

/** A gesture, and what came back. */
export interface FakeInteraction extends FakeGesture {
  id: string;
  token: string;
  channel: FakeChannel;
  user: FakeUser;
  createdAtMs: number;
  /** How it was acknowledged. */
  acknowledged?: { type: number; ephemeral: boolean };
  /** It was not acknowledged in time, and is no longer known. */
  late: boolean;
  /**
   * The reply, with "thinking…" as the flag Loading; absent before the acknowledgement and after a deletion. For a button it is the
   * message with the button.
   */
  reply?: FakeMessage;
  followUps: FakeMessage[];
  /** The form that opened in answer. */
  form?: FakeForm;
  /** Autocomplete choices. */
  offered?: Array<{ name: string; value: unknown }>;
}

/** Source: Discord docs, "Receiving and Responding". */
const DEADLINE_MS = 3_000;
const TOKEN_LIFE_MS = 15 * 60_000;

/** How gestures can be answered, as far as a bot of our kind does. Source: Discord docs, "Interaction Callback Type". */
const CALLBACKS_OF: Record<FakeGesture['type'], InteractionResponseType[]> = {
  [InteractionType.ApplicationCommand]: [
    InteractionResponseType.DeferredChannelMessageWithSource,
    InteractionResponseType.Modal,
  ],
  [InteractionType.MessageComponent]: [
    InteractionResponseType.DeferredMessageUpdate,
    InteractionResponseType.ChannelMessageWithSource,
    InteractionResponseType.Modal,
  ],
  [InteractionType.ModalSubmit]: [
    InteractionResponseType.DeferredChannelMessageWithSource,
    InteractionResponseType.ChannelMessageWithSource,
  ],
  [InteractionType.ApplicationCommandAutocomplete]: [
    InteractionResponseType.ApplicationCommandAutocompleteResult,
  ],
};

/** Everything typed so far, and the routes that answer it. */
export type Interactions = ReturnType<typeof createInteractions>;

/** Interactions and their webhooks: deadline, double acknowledgement, expiry, ephemeral replies. */
export function createInteractions(options: {
  state: DiscordState;
  gateway: ReturnType<typeof createGateway>;
}) {
  const { state, gateway } = options;
  const byToken = new Map<string, FakeInteraction>();
  const no = (status: number, code: number, message: string): RestAnswer => ({
    status,
    body: refusal(status, code, message),
  });
  const ok = (message: FakeMessage): RestAnswer => ({
    status: 200,
    body: wireMessage(state, message),
  });

  function callback(request: RestRequest, id: string, token: string): RestAnswer {
    const found = byToken.get(token);
    if (found?.id !== id || found.late) return no(404, 10_062, 'Unknown interaction');
    if (found.acknowledged) {
      return no(400, 40_060, 'Interaction has already been acknowledged.');
    }
    const { type, data = {} } = request.body as { type: number; data?: MessageBody };
    if (!CALLBACKS_OF[found.type].includes(type))
      return no(501, 0, 'This fake knows no such answer');
    const flags = data.flags ?? 0;
    const ephemeral = (flags & MessageFlags.Ephemeral) !== 0;
    const wrong = wrongCallback(type, data);
    if (wrong) return no(wrong.status, wrong.code, wrong.message);
    found.acknowledged = { type, ephemeral };
    if (type === InteractionResponseType.Modal) {
      found.form = data as unknown as FakeForm;
      return { status: 204 };
    }
    if (type === InteractionResponseType.ApplicationCommandAutocompleteResult) {
      found.offered = (data as { choices?: NonNullable<FakeInteraction['offered']> }).choices ?? [];
      return { status: 204 };
    }
    found.reply =
      type === InteractionResponseType.DeferredMessageUpdate
        ? found.message
        : type === InteractionResponseType.ChannelMessageWithSource
          ? addReply(found, data, flags, MessageType.Reply)
          : addReply(found, {}, flags | MessageFlags.Loading, MessageType.ChatInputCommand);
    if (!found.reply) return no(404, 10_008, 'Unknown Message');
    if (request.query.get('with_response') !== 'true') return { status: 204 };
    return {
      status: 200,
      body: {
        interaction: { id, type: found.type, response_message_id: found.reply.id },
        resource: { type, message: wireMessage(state, found.reply) },
      },
    };
  }

  function addReply(to: FakeInteraction, body: MessageBody, flags: number, type: MessageType) {
    const message = state.addMessage(to.channel, state.bot, body, {
      type,
      flags,
      webhook_id: state.applicationId,
    });
    gateway.announce('MESSAGE_CREATE', message);
    return message;
  }

  function webhook(request: RestRequest, token: string, which: string | undefined): RestAnswer {
    const found = byToken.get(token);
    if (!found?.acknowledged) return no(404, 10_015, 'Unknown Webhook');
    if (Date.now() - found.createdAtMs > TOKEN_LIFE_MS) {
      return no(401, 50_027, 'Invalid Webhook Token');
    }
    const body = { ...request.body, uploads: request.uploads } as MessageBody;
    const mayAttach = (state.permissionsIn(found.channel) & PermissionFlagsBits.AttachFiles) !== 0n;
    if (request.uploads.length > 0 && !mayAttach) return no(403, 50_013, 'Missing Permissions');
    if (request.method === 'POST' && which === undefined) {
      const wrong = checkMessage(body, 'post');
      if (wrong) return no(wrong.status, wrong.code, wrong.message);
      // The first follow-up takes the place of "thinking…", and is as visible as that was.
      if (found.reply && (found.reply.flags & MessageFlags.Loading) !== 0) {
        return edit(found.reply, body);
      }
      const message = addReply(found, body, body.flags ?? 0, MessageType.Reply);
      found.followUps.push(message);
      return ok(message);
    }
    const mine = [found.reply, ...found.followUps];
    const message =
      which === '@original' ? found.reply : mine.find((candidate) => candidate?.id === which);
    // Another person may have deleted it.
    if (!message || !state.messages.has(message.id)) return no(404, 10_008, 'Unknown Message');
    if (request.method === 'GET') return ok(message);
    if (request.method === 'DELETE') {
      state.messages.delete(message.id);
      if (message === found.reply) found.reply = undefined;
      return { status: 204 };
    }
    return edit(message, body);
  }

  function edit(message: FakeMessage, body: MessageBody): RestAnswer {
    const wrong = checkMessage(body, 'edit');
    if (wrong) return no(wrong.status, wrong.code, wrong.message);
    state.editMessage(message, body);
    gateway.announce('MESSAGE_UPDATE', message);
    return ok(message);
  }

  return {
    /** Sends the interaction; `createdAtMs` in the past makes it one that comes late. */
    create(
      user: FakeUser,
      channel: FakeChannel,
      gesture: FakeGesture,
      createdAtMs = Date.now(),
    ): FakeInteraction {
      const interaction: FakeInteraction = {
        ...gesture,
        id: snowflake(createdAtMs),
        token: interactionToken(),
        channel,
        user,
        createdAtMs,
        followUps: [],
        late: Date.now() - createdAtMs > DEADLINE_MS,
      };
      afterTurns(createdAtMs + DEADLINE_MS - Date.now(), () => {
        interaction.late = true;
      });
      byToken.set(interaction.token, interaction);
      gateway.dispatch('INTERACTION_CREATE', payloadOf(state, interaction));
      return interaction;
    },
    /** Sends the same interaction again, as after a reconnect. */
    repeat(interaction: FakeInteraction) {
      gateway.dispatch('INTERACTION_CREATE', payloadOf(state, interaction));
    },
    route(request: RestRequest): RestAnswer | undefined {
      const { method, path } = request;
      const [, id = '', token = ''] = /^\/interactions\/(\d+)\/([^/]+)\/callback$/.exec(path) ?? [];
      if (method === 'POST' && id !== '') return callback(request, id, token);
      const [, application, hook = '', which] =
        /^\/webhooks\/(\d+)\/([^/]+)(?:\/messages\/([^/]+))?$/.exec(path) ?? [];
      return application === state.applicationId ? webhook(request, hook, which) : undefined;
    },
  };
}

function wrongCallback(type: InteractionResponseType, data: object): Refusal | undefined {
  if (type === InteractionResponseType.Modal) return checkForm(data);
  if (type === InteractionResponseType.ApplicationCommandAutocompleteResult) {
    return checkOffered(data);
  }
  return type === InteractionResponseType.ChannelMessageWithSource
    ? checkMessage(data, 'post')
    : undefined;
}

function payloadOf(state: DiscordState, interaction: FakeInteraction) {
  const { id, token, type, data, message, channel, user } = interaction;
  const inGuild = channel.guild_id !== undefined;
  const person = {
    nick: null,
    roles: state.rolesOf(user.id, channel.guild_id),
    joined_at: '2026-01-01T00:00:00Z',
    flags: 0,
    user,
  };
  return {
    id,
    application_id: state.applicationId,
    type,
    token,
    version: 1,
    data,
    ...(message ? { message: wireMessage(state, message) } : {}),
    channel_id: channel.id,
    channel: { ...channel, permissions: '0' },
    app_permissions: String(inGuild ? state.permissionsIn(channel) : (1n << 50n) - 1n),
    locale: 'en-US',
    entitlements: [],
    attachment_size_limit: 10_485_760,
    authorizing_integration_owners: { 0: channel.guild_id ?? '0' },
    context: inGuild ? 0 : 1,
    ...(inGuild
      ? {
          guild_id: channel.guild_id,
          guild_locale: 'en-US',
          guild: { id: channel.guild_id, locale: 'en-US', features: [] },
          member: {
            ...person,
            permissions: String(state.permissionsOf(user.id, channel)),
            deaf: false,
            mute: false,
          },
        }
      : { user }),
  };
}
