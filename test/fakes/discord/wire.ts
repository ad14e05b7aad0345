import { ChannelType } from 'discord.js';
import { BOT_PERMISSIONS, type DiscordState, type FakeMessage, type FakeRole } from './state.ts';
import type { FakeAttachment } from './uploads.ts';

/** A server member in wire format. */
export const memberOf = (state: DiscordState, id: string, guildId = state.guildId) => ({
  user: state.users.get(id),
  nick: null,
  roles: state.rolesOf(id, guildId),
  joined_at: '2026-01-01T00:00:00.000000+00:00',
  deaf: false,
  mute: false,
  flags: 0,
});

/** Additional fields of a message in a server. */
export function inGuildOf(state: DiscordState, message: FakeMessage, guildId: string) {
  const { user: _user, ...member } = memberOf(state, message.author.id, guildId);
  return { guild_id: guildId, member };
}

/** A message as it goes over the wire. */
export function wireMessage(state: DiscordState, message: FakeMessage): Record<string, unknown> {
  const { sentAtMs, edits, nonce, rang, ...data } = message;
  const answered = state.messages.get(message.message_reference?.message_id ?? '');
  return {
    ...data,
    timestamp: new Date(sentAtMs).toISOString(),
    edited_timestamp: edits.length > 0 ? new Date().toISOString() : null,
    tts: false,
    pinned: false,
    attachments: message.attachments.map((file) => wireAttachment(state, file)),
    ...(answered ? { referenced_message: wireMessage(state, answered) } : {}),
  };
}

/** A message's file in wire format, with a new signed URL each time. */
export function wireAttachment(state: DiscordState, attachment: FakeAttachment) {
  const { bytes: _bytes, ...file } = attachment;
  return { ...file, url: state.addressOf(attachment) };
}

/** A role as it goes over the wire. */
export const roleOf = ({ guild: _guild, ...role }: FakeRole) => ({
  position: 1,
  color: 0,
  colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
  hoist: false,
  managed: false,
  flags: 0,
  ...role,
});

const isThread = ({ type }: { type: ChannelType }) =>
  type === ChannelType.PublicThread || type === ChannelType.PrivateThread;

/** A server as it goes over the wire. */
export function guildOf(state: DiscordState, guildId = state.guildId) {
  const channels = [...state.channels.values()].filter(({ guild_id }) => guild_id === guildId);
  return {
    id: guildId,
    name: 'Test server',
    // Not one of the test's users, because an owner has every permission.
    owner_id: guildId,
    roles: [
      {
        id: guildId,
        name: '@everyone',
        permissions: String(BOT_PERMISSIONS),
        position: 0,
        color: 0,
        colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
        hoist: false,
        managed: false,
        mentionable: false,
        flags: 0,
      },
      ...[...state.roles.values()]
        .filter(({ guild = state.guildId }) => guild === guildId)
        .map(roleOf),
    ],
    emojis: [],
    stickers: [],
    features: [],
    joined_at: '2026-01-01T00:00:00.000000+00:00',
    large: false,
    unavailable: false,
    member_count: 2,
    members: [memberOf(state, state.bot.id, guildId)],
    channels: channels.filter((channel) => !isThread(channel)),
    threads: channels.filter((one) => isThread(one) && !one.thread_metadata?.archived),
    voice_states: [],
    presences: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  };
}

/**
 * A message as REST gives it: without the privileged intent what others said to each other is empty. Source: Discord docs,
 * "Message Content Intent".
 */
export function readMessage(
  state: DiscordState,
  message: FakeMessage,
  messageContentAllowed: boolean,
): Record<string, unknown> {
  const answered = state.messages.get(message.message_reference?.message_id ?? '');
  const isOpen =
    messageContentAllowed ||
    state.channels.get(message.channel_id)?.guild_id === undefined ||
    message.author.id === state.bot.id ||
    message.mentions.some(({ id }) => id === state.bot.id);
  return {
    ...wireMessage(state, message),
    ...(isOpen ? {} : { content: '', embeds: [], components: [], attachments: [] }),
    ...(answered && {
      referenced_message: readMessage(state, answered, messageContentAllowed),
    }),
  };
}
