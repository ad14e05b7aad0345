import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  ChannelType,
  GatewayIntentBits,
  InteractionType,
  MessageFlags,
  PermissionFlagsBits,
} from 'discord.js';
import { onTestFinished } from 'vitest';
import { eventually } from '../../helpers/eventually.ts';
import type { AtEnd } from '../../helpers/temporary-folder.ts';
import { type BucketLimit, COMMON_LIMIT, withGuards, withLimit } from './buckets.ts';
import { type Cdn, createCdn, type SentFile } from './cdn.ts';
import { sentForm } from './forms.ts';
import { createGateway } from './gateway.ts';
import { startHttp } from './http.ts';
import { createInteractions, type FakeInteraction } from './interactions.ts';
import { createRoutes, type RegisteredCommand } from './routes.ts';
import { guildIdFor } from './shards.ts';
import { createState, type FakeChannel, type FakeMessage, type FakeUser } from './state.ts';
import { begun, typed } from './typed.ts';
import { memberOf, roleOf, wireMessage } from './wire.ts';

/** How this Discord differs from the usual one. */
export interface DiscordFakeOptions {
  /** The application has the Message Content Intent. */
  messageContentAllowed?: boolean;
  nonceWindowMs?: number;
  /** Limit of posts and edits per channel instead of Discord's own; false for no limit. */
  limit?: BucketLimit | false;
  /** Time within which all processes of the app must respect a limit. Without it, the app has one process. */
  heardMs?: number;
  /** When it is closed: with the running test, unless this says otherwise. */
  atEnd?: AtEnd;
}

/** The running fake: what a person does in Discord, what they see there, and what can go wrong. */
export type DiscordFake = Awaited<ReturnType<typeof startDiscord>>;

/**
 * Discord as a bot sees it: REST v10 and the gateway on one port of this machine, with one server, one channel, one user,
 * and Discord's limits, deadlines and permissions. Commands that are not registered and inputs Discord's own client would
 * not let through throw. It is closed with the test, which fails when a route was asked for that the fake does not know.
 */
export async function startDiscord(options: DiscordFakeOptions = {}) {
  const { messageContentAllowed = false, nonceWindowMs = 5 * 60_000 } = options;
  const { atEnd = onTestFinished, limit = COMMON_LIMIT } = options;
  const state = createState();
  const general = state.addChannel({ name: 'general' });
  const alice = state.addUser('alice');
  const commands = new Map<string, RegisteredCommand[]>();
  const settings = {
    token: 'ZmFrZS1hcHBsaWNhdGlvbg.fake00.token-of-the-discord-fake-0000',
    nonceWindowMs,
    messageContentAllowed,
    interactionsEndpointUrl: null as string | null,
  };
  let port = 0;
  const gatewayUrl = () => `ws://127.0.0.1:${port}/gateway`;

  const gateway = createGateway({
    state,
    token: () => settings.token,
    messageContentAllowed,
    url: gatewayUrl,
  });
  const interactions = createInteractions({ state, gateway });
  const route = createRoutes({
    state,
    gateway,
    interactions,
    commands,
    settings,
    gatewayUrl,
  });
  const cdn: Cdn = createCdn({ origin: () => `http://127.0.0.1:${port}` });
  state.addressOf = cdn.addressOf;
  const http = await startHttp({
    heardMs: options.heardMs,
    route: withGuards(limit ? withLimit(route, limit) : route),
    serve: (incoming, outgoing) => cdn.serve(incoming, outgoing),
    upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      gateway.upgrade(request, socket, head),
  });
  port = http.port;
  atEnd(async () => {
    gateway.close();
    await http.close();
    if (http.unhandled.length > 0) {
      throw new Error(`Discord was asked for what the fake does not know: ${http.unhandled}`);
    }
  });

  function grantIn(
    guild: string,
    user: FakeUser,
    ...names: Array<keyof typeof PermissionFlagsBits>
  ): string {
    const bits = names.reduce((all, name) => all | PermissionFlagsBits[name], 0n);
    const role = state.addRole({ permissions: String(bits), guild });
    state.giveRole(user.id, role.id);
    const told = { guild_id: guild, role: roleOf(role) };
    gateway.dispatch('GUILD_ROLE_CREATE', told, GatewayIntentBits.Guilds);
    return role.id;
  }

  function visible(channel: string): FakeMessage[] {
    return state.messagesIn(channel).filter(({ flags }) => (flags & MessageFlags.Ephemeral) === 0);
  }

  return {
    api: `http://127.0.0.1:${port}/api`,
    settings,
    guildId: state.guildId,
    bot: state.bot,
    cdn,
    /** The server's first channel, and who talks when nobody else is named. */
    general,
    alice,
    gateway,
    requests: http.requests,
    /** Time before any request is answered, milliseconds. */
    http: http.settings,
    /** Commands by scope: `global` or a server's id. */
    commands,
    addUser: state.addUser,
    addChannel: state.addChannel,
    directChannel: state.addDirect,
    /** Adds a server with one channel to a shard. Sessions that identify later see it. */
    addServer: (shard: number, count: number): FakeChannel =>
      state.addChannel({ guild_id: guildIdFor(shard, count) }),
    /** A channel by its id. */
    channelOf(id: string): FakeChannel {
      const found = state.channels.get(id);
      if (!found) throw new Error(`There is no channel ${id}`);
      return found;
    },
    /** Every message ever posted, also ephemeral ones. */
    messages: () => [...state.messages.values()],
    /** Public messages of a channel or thread, oldest first. */
    channel: visible,
    /** The thread under a message, once it is there. */
    thread: (id: string) => eventually(() => state.channels.get(id), { what: `thread ${id}` }),
    threads: () => [...state.channels.values()].filter(({ parent_id }) => parent_id !== null),
    fail: http.fail,
    recover: http.recover,
    /** To be called when the bot was killed, before it is started again. */
    killed: http.killed,
    /** Permissions that were checked for a request. */
    checkedPermissions: state.checked,
    /** The bot has not been added to the server, or was removed from it. */
    removeBot() {
      state.inServer = false;
    },

    /** A documented 429. Source: Discord docs, "Rate Limits". */
    rateLimit(limit: {
      method?: string;
      path?: RegExp;
      times?: number;
      seconds: number;
      scope?: 'user' | 'shared' | 'global';
    }) {
      const { seconds, scope = 'user', ...which } = limit;
      const global = scope === 'global';
      http.fail({
        ...which,
        status: 429,
        body: { message: 'You are being rate limited.', retry_after: seconds, global },
        headers: {
          'retry-after': String(Math.ceil(seconds)),
          'x-ratelimit-scope': scope,
          ...(global
            ? { 'x-ratelimit-global': 'true' }
            : {
                'x-ratelimit-limit': '5',
                'x-ratelimit-remaining': '0',
                'x-ratelimit-reset-after': String(seconds),
                'x-ratelimit-bucket': 'fake-bucket',
              }),
        },
      });
    },

    addRole: state.addRole,
    /** Gives a user a new role with permissions; gives the role's id. */
    grant: (user: FakeUser, ...names: Array<keyof typeof PermissionFlagsBits>) =>
      grantIn(state.guildId, user, ...names),
    grantIn,
    /** A person leaves a server. */
    leave: (user: FakeUser, guild?: string) => state.leave(user.id, guild),

    /** Removes all roles of a user. A bot gets this event only about itself. */
    takeRoles(user: FakeUser) {
      state.takeRoles(user.id);
      if (user.id !== state.bot.id) return;
      const member = { guild_id: state.guildId, ...memberOf(state, user.id) };
      gateway.dispatch('GUILD_MEMBER_UPDATE', member);
    },
    /** Denies a role permissions in a channel. */
    denyRole(
      channel: FakeChannel,
      role: string,
      ...names: Array<keyof typeof PermissionFlagsBits>
    ) {
      const deny = names.reduce((all, name) => all | PermissionFlagsBits[name], 0n);
      channel.permission_overwrites = [{ id: role, type: 0, allow: '0', deny: String(deny) }];
      gateway.dispatch('CHANNEL_UPDATE', channel, GatewayIntentBits.Guilds);
    },
    /** Unlocks a thread. */
    unlock(thread: FakeChannel) {
      thread.thread_metadata = { archived: false, locked: false, auto_archive_duration: 60 };
      gateway.dispatch('THREAD_UPDATE', thread, GatewayIntentBits.Guilds);
    },

    /** Opens a thread under a message, as a person does. */
    openThread(message: FakeMessage): FakeChannel {
      const thread = state.addChannel({
        id: message.id,
        type: ChannelType.PublicThread,
        parent_id: message.channel_id,
        name: 'thread',
        thread_metadata: { archived: false, locked: false, auto_archive_duration: 1_440 },
      });
      gateway.dispatch('THREAD_CREATE', thread, GatewayIntentBits.Guilds);
      return thread;
    },

    /** Takes permissions away from the bot in a channel. */
    deny(channel: FakeChannel, ...names: Array<keyof typeof PermissionFlagsBits>) {
      const deny = names.reduce((all, name) => all | PermissionFlagsBits[name], 0n);
      channel.permission_overwrites = [
        { id: channel.guild_id ?? state.guildId, type: 0, allow: '0', deny: String(deny) },
      ];
      gateway.dispatch('CHANNEL_UPDATE', channel, GatewayIntentBits.Guilds);
    },

    /** Grants the bot permissions in a channel. */
    allow(channel: FakeChannel, ...names: Array<keyof typeof PermissionFlagsBits>) {
      const allow = names.reduce((all, name) => all | PermissionFlagsBits[name], 0n);
      channel.permission_overwrites = [
        ...channel.permission_overwrites,
        { id: state.bot.id, type: 1, allow: String(allow), deny: '0' },
      ];
      gateway.dispatch('CHANNEL_UPDATE', channel, GatewayIntentBits.Guilds);
    },

    /** Deletes a channel with its threads, a thread or a message, as an administrator does. */
    remove(id: string) {
      const told = state.remove(id);
      if (told) gateway.dispatch(told.t, told.d, told.intent);
    },

    /** Types a slash command: `slash('monitor add', { target: 'https://example.com' })`. */
    slash(
      name: string,
      values: Record<string, unknown> = {},
      where: { channel?: FakeChannel; user?: FakeUser; createdAtMs?: number } = {},
    ): FakeInteraction {
      const { channel = general, user = alice, createdAtMs } = where;
      const known = [...(commands.get(state.guildId) ?? []), ...(commands.get('global') ?? [])];
      const type = InteractionType.ApplicationCommand;
      const { attachments, given } = cdn.beside(values);
      const data = typed(known, name, given);
      const resolved = attachments && { resolved: { attachments } };
      return interactions.create(
        user,
        channel,
        { type, data: { ...data, ...resolved } },
        createdAtMs,
      );
    },
    /** Chooses a command from the menu of a message. Its content comes with that, whatever the intents. */
    chooseFor(
      message: FakeMessage,
      name: string,
      { user = alice, withMessage = {} }: { user?: FakeUser; withMessage?: object } = {},
    ): FakeInteraction {
      const known = [...(commands.get(state.guildId) ?? []), ...(commands.get('global') ?? [])];
      const command = known.find((one) => one.name === name && one.type === 3);
      const channel = state.channels.get(message.channel_id);
      if (!command || !channel) throw new Error(`No command ${name} is registered for messages`);
      const messages = { [message.id]: { ...wireMessage(state, message), ...withMessage } };
      const data = { id: command.id, name, type: 3, target_id: message.id, resolved: { messages } };
      return interactions.create(user, channel, { type: InteractionType.ApplicationCommand, data });
    },
    /** A message with a button that carries this, as an Askwatch of another version has left it. */
    leaveButton: (custom_id: string, { label = 'Do', channel = general } = {}): FakeMessage =>
      state.addMessage(channel, state.bot, {
        content: label,
        components: [{ type: 1, components: [{ type: 2, style: 2, label, custom_id }] }],
      }),
    /** Presses the button with this label under a message, as it is shown now. */
    press(
      { id }: { id: string },
      label: string,
      who: { user?: FakeUser; createdAtMs?: number } = {},
    ): FakeInteraction {
      const { user = alice, createdAtMs } = who;
      const message = state.messages.get(id);
      const channel = state.channels.get(message?.channel_id ?? '');
      const buttons = message?.components.flatMap(({ components }) => components) ?? [];
      const button = buttons.find((one) => one.label === label);
      if (!message || !channel || !button) throw new Error(`There is no button ${label}`);
      const data = { component_type: button.type, custom_id: button.custom_id };
      const type = InteractionType.MessageComponent;
      return interactions.create(user, channel, { type, data, message }, createdAtMs);
    },
    /** Changes inputs of the form that a gesture opened, and sends it. */
    send(
      { form, channel, user, message }: FakeInteraction,
      inputs: Record<string, string> = {},
    ): FakeInteraction {
      if (!form) throw new Error('No form was opened');
      const type = InteractionType.ModalSubmit;
      const data = sentForm(form, inputs);
      return interactions.create(user, channel, { type, data, message });
    },
    /** Begins to type the last of these inputs, and looks at what is offered. */
    begin(
      name: string,
      values: Record<string, string>,
      where: { channel?: FakeChannel; user?: FakeUser } = {},
    ): FakeInteraction {
      const { channel = general, user = alice } = where;
      const known = [...(commands.get(state.guildId) ?? []), ...(commands.get('global') ?? [])];
      const type = InteractionType.ApplicationCommandAutocomplete;
      return interactions.create(user, channel, { type, data: begun(known, name, values) });
    },
    /** Delivers a slash command or a press again. */
    repeat: interactions.repeat,

    /** Says something; `mention` puts the bot's mention in front. */
    say(
      content: string,
      where: {
        channel?: FakeChannel;
        user?: FakeUser;
        replyTo?: FakeMessage;
        mention?: boolean;
        files?: readonly SentFile[];
      } = {},
    ): FakeMessage {
      const { channel = general, user = alice, replyTo, mention = false, files = [] } = where;
      const message = state.addMessage(
        channel,
        user,
        {
          content: mention ? `<@${state.bot.id}> ${content}` : content,
          ...(replyTo ? { message_reference: { message_id: replyTo.id } } : {}),
        },
        { attachments: files.map(cdn.keep) },
      );
      gateway.announce('MESSAGE_CREATE', message);
      return message;
    },
    /** Has been said while nobody was connected. */
    saidBefore(content: string, { channel = general, user = alice } = {}): FakeMessage {
      return state.addMessage(channel, user, { content });
    },
    /** Delivers a message again. */
    repeatMessage(message: FakeMessage) {
      gateway.announce('MESSAGE_CREATE', message);
    },
  };
}
