import { randomBytes } from 'node:crypto';
import {
  ChannelType,
  GatewayIntentBits,
  MessageFlags,
  MessageType,
  PermissionFlagsBits,
} from 'discord.js';
import { attachmentsOf, type FakeAttachment, type Upload, withPictures } from './uploads.ts';

/** A person or a bot. */
export interface FakeUser {
  id: string;
  username: string;
  global_name: string | null;
  discriminator: string;
  avatar: null;
  bot: boolean;
}

/** A channel, thread or direct conversation. */
export interface FakeChannel {
  id: string;
  type: ChannelType;
  guild_id?: string;
  parent_id: string | null;
  name: string | null;
  /** `type` is 0 for a role and 1 for a member. */
  permission_overwrites: Array<{ id: string; type: 0 | 1; allow: string; deny: string }>;
  recipients?: FakeUser[];
  owner_id?: string;
  thread_metadata?: { archived: boolean; locked: boolean; auto_archive_duration: number };
}

/** A row of buttons under a message. */
export interface FakeRow {
  type: number;
  components: FakeButton[];
}

/** A button, with only the fields a bot of our kind uses. */
export interface FakeButton {
  type: number;
  style: number;
  label?: string;
  custom_id?: string;
  url?: string;
}

/** A role of the server. */
export interface FakeRole {
  id: string;
  name: string;
  permissions: string;
  /** True if everyone may mention the role; Askwatch's bot has no permission for other roles. */
  mentionable: boolean;
  /** The server that it is of; the first when it does not say. */
  guild?: string;
}

/** A message as Discord has it now, and each content it had before. */
export interface FakeMessage {
  id: string;
  type: MessageType;
  channel_id: string;
  author: FakeUser;
  content: string;
  embeds: Array<Record<string, unknown>>;
  components: FakeRow[];
  attachments: FakeAttachment[];
  flags: number;
  mentions: FakeUser[];
  mention_roles: string[];
  mention_everyone: boolean;
  /** The roles and people that rang when it was posted; an edit rings nowhere. */
  rang: string[];
  nonce?: string;
  message_reference?: { message_id: string; channel_id: string; type: 0 };
  webhook_id?: string;
  sentAtMs: number;
  edits: string[];
}

export interface AllowedMentions {
  parse?: string[];
  users?: string[];
  roles?: string[];
  replied_user?: boolean;
}

/** A message as a request describes it. */
export interface MessageBody {
  content?: string | null;
  embeds?: Array<Record<string, unknown>>;
  components?: FakeRow[];
  attachments?: Array<{ id?: string | number; description?: string }>;
  /** Not in the JSON: the files beside it. */
  uploads?: readonly Upload[];
  flags?: number;
  nonce?: string | number;
  enforce_nonce?: boolean;
  allowed_mentions?: AllowedMentions;
  message_reference?: { message_id: string; fail_if_not_exists?: boolean };
}

const DISCORD_EPOCH_MS = 1_420_070_400_000n;
let sequence = 0n;

/** An id that carries its time, as real ones do; 17 to 19 digits, which discord.js counts on. */
export function snowflake(atMs = Date.now()): string {
  sequence += 1n;
  return (((BigInt(atMs) - DISCORD_EPOCH_MS) << 22n) | (sequence & 0xfffffn)).toString();
}

/** Permissions of the README's invite link. */
export const BOT_PERMISSIONS =
  PermissionFlagsBits.ViewChannel |
  PermissionFlagsBits.SendMessages |
  PermissionFlagsBits.SendMessagesInThreads |
  PermissionFlagsBits.CreatePublicThreads |
  PermissionFlagsBits.EmbedLinks |
  PermissionFlagsBits.AttachFiles |
  PermissionFlagsBits.ReadMessageHistory;

/** The server, its channels and everything said in them. */
export type DiscordState = ReturnType<typeof createState>;

/** An empty server with nobody but the bot. */
export function createState() {
  const users = new Map<string, FakeUser>();
  const channels = new Map<string, FakeChannel>();
  const messages = new Map<string, FakeMessage>();
  const roles = new Map<string, FakeRole>();
  /** Roles by the user who has them. */
  const rolesOf = new Map<string, string[]>();
  /** Pairs of server and user that aren't members; all others are. */
  const absent = new Set<string>();
  const guildId = snowflake();
  /** Permissions that were checked for a request. */
  const checked = new Set<bigint>();

  function addUser(username: string, bot = false): FakeUser {
    const user = {
      id: snowflake(),
      username,
      global_name: bot ? null : username[0]?.toUpperCase() + username.slice(1),
      discriminator: '0',
      avatar: null,
      bot,
    };
    users.set(user.id, user);
    return user;
  }

  function addChannel(channel: Partial<FakeChannel> = {}): FakeChannel {
    const added: FakeChannel = {
      id: snowflake(),
      type: ChannelType.GuildText,
      guild_id: guildId,
      parent_id: null,
      name: 'channel',
      permission_overwrites: [],
      ...channel,
    };
    channels.set(added.id, added);
    return added;
  }

  const bot = addUser('askwatch', true);

  const state = {
    guildId,
    /** The first server, and the ones of other channels. */
    guilds: (): string[] =>
      [
        ...new Set([guildId, ...[...channels.values()].flatMap(({ guild_id }) => guild_id ?? [])]),
      ].filter((id) => id !== guildId || state.inServer),
    /** The file's current URL. */
    addressOf: ({ url }: FakeAttachment): string => url,
    /** The bot is a member of the server. */
    inServer: true,
    checked,
    bot,
    applicationId: bot.id,
    users,
    channels,
    messages,
    roles,
    addUser,
    addChannel,
    /** A direct conversation between a user and the bot. */
    addDirect(user: FakeUser): FakeChannel {
      const { guild_id: _none, ...channel } = addChannel({
        type: ChannelType.DM,
        name: null,
        recipients: [user],
      });
      channels.set(channel.id, channel);
      return channel;
    },
    addRole(role: Partial<FakeRole> = {}): FakeRole {
      const added = {
        id: snowflake(),
        name: 'role',
        permissions: '0',
        mentionable: false,
        ...role,
      };
      roles.set(added.id, added);
      return added;
    },
    /** Gives a role to a user. */
    giveRole(user: string, role: string) {
      rolesOf.set(user, [...(rolesOf.get(user) ?? []), role]);
    },
    takeRoles(user: string) {
      rolesOf.delete(user);
    },
    /** The roles that a user has in a server. */
    rolesOf: (user: string, guild = guildId) =>
      (rolesOf.get(user) ?? []).filter((id) => (roles.get(id)?.guild ?? guildId) === guild),
    /** A person leaves a server. */
    leave(user: string, guild = guildId) {
      absent.add(`${guild} ${user}`);
    },
    isIn: (user: string, guild: string) => users.has(user) && !absent.has(`${guild} ${user}`),
    /** A user's permissions in a channel, by roles and member overwrites. */
    permissionsOf: (user: string, { guild_id, permission_overwrites }: FakeChannel): bigint =>
      state
        .rolesOf(user, guild_id)
        .map((id) => roles.get(id)?.permissions ?? 0)
        .concat(permission_overwrites.filter(({ id }) => id === user).map(({ allow }) => allow))
        .reduce<bigint>((all, permissions) => all | BigInt(permissions), 0n),
    /**
     * The bot's permissions in a channel; a thread has its channel's. Overwrites apply in the order everyone, all roles together,
     * member; each denies first, then allows. Source: Discord docs, "Permission Overwrites".
     */
    permissionsIn(channel: FakeChannel): bigint {
      const of = channel.parent_id ? channels.get(channel.parent_id) : channel;
      const overwrites = of?.permission_overwrites ?? [];
      const own = rolesOf.get(bot.id) ?? [];
      return [
        overwrites.filter(({ id }) => id === channel.guild_id),
        overwrites.filter(({ id }) => own.includes(id)),
        overwrites.filter(({ id }) => id === bot.id),
      ].reduce((permissions, level) => {
        const all = (which: 'allow' | 'deny') =>
          level.reduce((bits, overwrite) => bits | BigInt(overwrite[which]), 0n);
        return (permissions & ~all('deny')) | all('allow');
      }, BOT_PERMISSIONS);
    },
    /** Deletes a channel, thread or message, and returns the event. */
    remove(id: string) {
      const channel = channels.get(id);
      const message = messages.get(id);
      for (const one of channels.values()) if (one.parent_id === id) channels.delete(one.id);
      channels.delete(id);
      messages.delete(id);
      return channel ? channelGone(channel) : message && messageGone(message, channels);
    },
    /** Messages of a channel, oldest first. */
    messagesIn(channel: string): FakeMessage[] {
      return [...messages.values()].filter((message) => message.channel_id === channel);
    },
    addMessage(
      channel: FakeChannel,
      author: FakeUser,
      body: MessageBody,
      extra: Partial<FakeMessage> = {},
    ): FakeMessage {
      const reference = body.message_reference?.message_id;
      const answered = reference === undefined ? undefined : messages.get(reference);
      const message: FakeMessage = {
        id: snowflake(),
        type: answered ? MessageType.Reply : MessageType.Default,
        channel_id: channel.id,
        author,
        content: (body.content ?? '').trim(),
        embeds: embedsOf(body),
        components: body.components ?? [],
        attachments: attachmentsOf(body.uploads ?? [], body.attachments),
        flags: body.flags ?? 0,
        mention_everyone: false,
        mentions: [],
        mention_roles: [],
        rang: [],
        nonce: body.nonce === undefined ? undefined : String(body.nonce),
        ...(answered
          ? { message_reference: { message_id: answered.id, channel_id: channel.id, type: 0 } }
          : {}),
        sentAtMs: Date.now(),
        edits: [],
        ...extra,
      };
      setMentions(message, body.allowed_mentions, message.webhook_id !== undefined);
      message.rang = [
        ...message.mention_roles.filter((id) => roles.get(id)?.mentionable),
        ...message.mentions.map(({ id }) => id),
      ];
      if (
        answered &&
        (body.allowed_mentions?.replied_user ?? body.allowed_mentions === undefined)
      ) {
        message.mentions = [...new Set([...message.mentions, answered.author])];
      }
      messages.set(message.id, message);
      return message;
    },
    editMessage(message: FakeMessage, body: MessageBody): void {
      message.edits.push(message.content);
      if (body.content !== undefined) message.content = (body.content ?? '').trim();
      if (body.embeds !== undefined) message.embeds = embedsOf(body);
      if (body.uploads && body.uploads.length > 0) {
        message.attachments = attachmentsOf(body.uploads, body.attachments);
      }
      if (body.components !== undefined) message.components = body.components;
      if (body.flags !== undefined) {
        message.flags = (message.flags & ~MessageFlags.SuppressEmbeds) | body.flags;
      }
      message.flags &= ~MessageFlags.Loading;
      setMentions(message, body.allowed_mentions, message.webhook_id !== undefined);
    },
  };

  return state;

  /**
   * Sets the mentions that ping. Without `allowed_mentions`, a regular message pings everyone it mentions, an interaction's only
   * users. Edits are parsed again. Source: Discord docs, "Allowed Mentions Object".
   */
  function setMentions(message: FakeMessage, allowed: AllowedMentions | undefined, hook: boolean) {
    const parse = allowed
      ? (allowed.parse ?? [])
      : hook
        ? ['users']
        : ['users', 'roles', 'everyone'];
    const named = (pattern: RegExp, kind: string, listed: string[] = []) =>
      [...message.content.matchAll(pattern)]
        .map(([, id = '']) => id)
        .filter((id) => parse.includes(kind) || listed.includes(id));
    message.mentions = named(/<@!?(\d+)>/g, 'users', allowed?.users).flatMap(
      (id) => users.get(id) ?? [],
    );
    message.mention_roles = named(/<@&(\d+)>/g, 'roles', allowed?.roles);
    message.mention_everyone =
      parse.includes('everyone') && /@(everyone|here)/.test(message.content);
  }
}

/** Source: Discord docs, "Gateway Events": Thread Delete, Channel Delete. */
function channelGone({ id, guild_id, parent_id, type, name }: FakeChannel) {
  const isThread = type === ChannelType.PublicThread || type === ChannelType.PrivateThread;
  const t = isThread ? 'THREAD_DELETE' : 'CHANNEL_DELETE';
  return { t, d: { id, guild_id, parent_id, type, name }, intent: GatewayIntentBits.Guilds };
}

function messageGone({ id, channel_id }: FakeMessage, channels: Map<string, FakeChannel>) {
  const guild_id = channels.get(channel_id)?.guild_id;
  const { GuildMessages, DirectMessages } = GatewayIntentBits;
  const intent = guild_id === undefined ? DirectMessages : GuildMessages;
  return { t: 'MESSAGE_DELETE', d: { id, channel_id, guild_id }, intent };
}

const embedsOf = ({ embeds = [], uploads = [], attachments }: MessageBody) =>
  withPictures(embeds, attachmentsOf(uploads, attachments)).map((embed) => ({
    type: 'rich',
    ...embed,
  }));

/** A token as interactions have: long and unguessable. */
export const interactionToken = () => `fake-interaction-${randomBytes(24).toString('hex')}`;
