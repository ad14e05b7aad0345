import {
  type Client,
  type Guild,
  GuildMember,
  type Message,
  PermissionFlagsBits,
  type PermissionsBitField,
  RESTJSONErrorCodes,
} from 'discord.js';
import type { Logger } from 'pino';
import type { Person } from '../../bot/shared/place.ts';
import { hasCode } from './errors.ts';
import type { Interaction } from './interaction.ts';

export type Rights = Required<Pick<Person, 'mayManage' | 'channelOf' | 'isIn' | 'community'>>;

/** The rights of the person behind an interaction or message. Discord is asked only if neither contains them. */
export type RightsOf = (source: Interaction | Message) => Rights;

/** Members are remembered for this long. */
const KEEP_MS = 30_000;
const MAX_KEPT = 1_000;
const MAX_ASKED = 20;

const IN_SERVER: Person['community'] & {} = { name: 'this server' };
const OUTSIDE: Person['community'] & {} = {
  name: 'a server that you and Askwatch share',
  hint: 'If you manage one, try again in a channel there.',
};

/**
 * Server managers manage the bot, and channel managers their channel. In direct messages people manage their own conversation,
 * and shared things if they manage a server with the bot. The same holds for a server without the bot.
 */
export function createRights(client: Client, { log }: { log: Logger }): RightsOf {
  const known = new Map<string, { member: Promise<GuildMember | undefined>; atMs: number }>();

  /** Needs no privileged intent. Source: Discord docs, "Get Guild Member". */
  function memberOf(guild: Guild, user: string): Promise<GuildMember | undefined> {
    const key = `${guild.id} ${user}`;
    const kept = known.get(key);
    if (kept && performance.now() - kept.atMs < KEEP_MS) return kept.member;
    const member = guild.members
      .fetch({ user, force: true, cache: false })
      .catch((error: unknown) => {
        // They are not in this server. Source: Discord docs, "Opcodes and Status Codes".
        if (hasCode(error, RESTJSONErrorCodes.UnknownMember, RESTJSONErrorCodes.UnknownUser))
          return undefined;
        known.delete(key);
        log.warn(
          { err: error, guild: guild.id },
          'could not ask Discord whether a person is in a server; assuming not',
        );
        return undefined;
      });
    if (known.size >= MAX_KEPT) known.clear();
    known.set(key, { member, atMs: performance.now() });
    return member;
  }

  /** Servers where the person was seen come first, since the bot may be in thousands. */
  function serversFor(user: string): Guild[] {
    const all = [...client.guilds.cache.filter(({ available }) => available).values()];
    const seen = (guild: Guild) => guild.ownerId === user || guild.members.cache.has(user);
    return [...all.filter(seen), ...all.filter((one) => !seen(one))].slice(0, MAX_ASKED);
  }

  async function managesAServer(user: string): Promise<boolean> {
    for (const guild of serversFor(user)) {
      const member = await memberOf(guild, user);
      if (member && managesServer(member)) return true;
    }
    return false;
  }

  async function hasRole(user: string, role: string): Promise<boolean> {
    const guild = client.guilds.cache.find(({ roles }) => roles.cache.has(role));
    const member = guild && (await memberOf(guild, user));
    return member !== undefined && isInRole(member, role);
  }

  return (source) => {
    const { user, member, here } = standingOf(source);
    // For a server without the bot, only the interaction's data is known.
    if (member instanceof GuildMember) {
      return {
        mayManage: async (over) => (over === 'place' ? managesIn(here()) : managesServer(member)),
        channelOf: (id) => channelIn(member, id),
        isIn: async (role) => isInRole(member, role),
        community: IN_SERVER,
      };
    }
    const isDirect = source.guildId === null;
    return {
      mayManage: async (over) =>
        over === 'place' ? isDirect || managesIn(here()) : await managesAServer(user),
      // No server is known to be theirs.
      channelOf: async () => undefined,
      isIn: (role) => hasRole(user, role),
      community: OUTSIDE,
    };
  };
}

function standingOf(source: Interaction | Message) {
  if (!('author' in source)) {
    const { user, member, memberPermissions } = source;
    return { user: user.id, member, here: () => memberPermissions };
  }
  const { author, channel, member } = source;
  const here = () =>
    member?.guild.available && !channel.isDMBased() ? channel.permissionsFor(member) : null;
  return { user: author.id, member, here };
}

/** While a server is down, its roles are unknown and discord.js throws. */
const managesServer = (member: GuildMember) =>
  member.guild.available && managesIn(member.permissions);

async function channelIn(member: GuildMember, id: string) {
  if (!member.guild.available) return undefined;
  const channel = member.guild.channels.cache.get(id);
  const permissions = channel?.permissionsFor(member);
  if (!permissions?.has(PermissionFlagsBits.ViewChannel)) return undefined;
  return { channel: id, mayManage: managesIn(permissions) };
}

const isInRole = (member: GuildMember, role: string) =>
  member.guild.available && member.roles.cache.has(role);

function managesIn(permissions: Readonly<PermissionsBitField> | null): boolean {
  // Administrators have every permission.
  const { ManageGuild, ManageChannels } = PermissionFlagsBits;
  return permissions?.any([ManageGuild, ManageChannels]) ?? false;
}
