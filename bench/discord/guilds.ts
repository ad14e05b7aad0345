import { ChannelType, PermissionFlagsBits } from 'discord.js';
import { snowflake } from '../../test/fakes/discord/state.ts';

const ROLES = 30;
const CHANNELS = 50;
const MEMBERS = 100;

const JOINED_AT = '2025-03-14T09:26:53.589000+00:00';
const PERMISSIONS = String(PermissionFlagsBits.ViewChannel | PermissionFlagsBits.SendMessages);

const listOf = <T>(length: number, make: (at: number) => T) =>
  Array.from({ length }, (_, at) => make(at));

/**
 * A `GUILD_CREATE` event of a server of usual size. Discord sends all members only to bots with the presence intent, so this is the
 * upper bound. Source: Discord docs, "Guild Create".
 */
export function guildOfUsualSize(number: number, botId: string) {
  const id = snowflake();
  const roles = listOf(ROLES, (at) => roleOf(at, at === 0 ? id : snowflake()));
  const roleIds = roles.slice(1).map((role) => role.id);
  return {
    ...{ id, name: `Server ${number} of the bench`, owner_id: snowflake(), roles },
    channels: listOf(CHANNELS, (at) => channelOf(at, roleIds)),
    members: listOf(MEMBERS, (at) => memberOf(at, roleIds, at === 0 ? botId : snowflake())),
    ...{ joined_at: JOINED_AT, large: true, unavailable: false, member_count: MEMBERS },
    ...{
      icon: 'a1b2c3d4e5f60718293a4b5c6d7e8f90',
      preferred_locale: 'en-US',
      verification_level: 1,
    },
    ...{ features: ['COMMUNITY', 'NEWS'], afk_timeout: 300, premium_tier: 1, nsfw_level: 0 },
    ...{ emojis: [], stickers: [], threads: [], voice_states: [], presences: [] },
    ...{ stage_instances: [], guild_scheduled_events: [], soundboard_sounds: [] },
  };
}

const roleOf = (at: number, id: string) => ({
  ...{ id, name: at === 0 ? '@everyone' : `Role number ${at}`, permissions: PERMISSIONS },
  ...{ position: at, color: at * 1_000, hoist: at % 5 === 0, managed: false, mentionable: true },
  colors: { primary_color: at * 1_000, secondary_color: null, tertiary_color: null },
  ...{ flags: 0, icon: null, unicode_emoji: null },
});

/** One in ten is a category, and one a voice channel. */
function channelOf(at: number, roleIds: readonly string[]) {
  const types = { 0: ChannelType.GuildCategory, 1: ChannelType.GuildVoice };
  const overwrites = roleIds.slice(at % 10, (at % 10) + 3);
  return {
    id: snowflake(),
    type: types[(at % 10) as 0 | 1] ?? ChannelType.GuildText,
    ...{ name: `channel-number-${at}`, position: at, parent_id: null, nsfw: false, flags: 0 },
    ...{ topic: `What channel ${at} is about, in a line.`, rate_limit_per_user: 0 },
    ...{ last_message_id: snowflake(), bitrate: 64_000, user_limit: 0 },
    permission_overwrites: overwrites.map((id) => ({ id, type: 0, allow: PERMISSIONS, deny: '0' })),
  };
}

function memberOf(at: number, roleIds: readonly string[], id: string) {
  return {
    user: {
      ...{ id, username: `person_${id}`, global_name: `Person ${at}`, discriminator: '0' },
      ...{ avatar: 'f0e1d2c3b4a5968778695a4b3c2d1e0f', bot: at === 0, public_flags: 0 },
    },
    ...{ nick: at % 3 === 0 ? `Nick ${at}` : null, roles: roleIds.slice(at % 20, (at % 20) + 4) },
    ...{ joined_at: JOINED_AT, premium_since: null, deaf: false, mute: false, flags: 0 },
  };
}
