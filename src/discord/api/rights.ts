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
import type { Guilds } from './guilds.ts';
import type { Interaction } from './interaction.ts';

/** What people may do beyond talking. */
export type Rights = Required<Pick<Person, 'mayManage' | 'channelOf' | 'isIn' | 'community'>>;

/** What whoever made an interaction or wrote a message may do. Discord is asked for what came with neither, when that is needed. */
export type RightsOf = (source: Interaction | Message | Standing) => Rights;

/** How somebody stands where they said something. */
export interface Standing {
  user: string;
  /** As a member of the server, if it was in one. */
  member: Interaction['member'];
  /** What they may do in its channel. */
  here(): Readonly<PermissionsBitField> | null;
  isDirect: boolean;
}

/** How long it is believed how somebody stands in a server. */
const KEEP_MS = 30_000;

/** Of how many people that is kept. */
const MAX_KEPT = 1_000;

/** Servers that are asked about one person. */
const MAX_ASKED = 20;

const IN_SERVER: Person['community'] & {} = { name: 'this server' };
const OUTSIDE: Person['community'] & {} = {
  name: 'a server that you and Askwatch share',
  hint: 'If you manage one, try again in a channel there.',
};

/**
 * Who manages a server manages the bot in it, and a channel is managed by those who manage it or the server. Alone with the
 * bot it is one's own place, but there is no server: what all share is then managed by those who manage a server in which
 * the bot is, too. So it is where a server is named that the bot is not in.
 */
export function createRights(
  client: Client,
  { guilds, log }: { guilds: Guilds; log: Logger },
): RightsOf {
  const known = new Map<string, { member: Promise<GuildMember | undefined>; atMs: number }>();

  /** Source: Discord docs, "Get Guild Member", which takes no privileged intent. */
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

  /** Servers of the bot, those where somebody was seen first: a person is in few, the bot may be in thousands. */
  async function* serversFor(user: string): AsyncGenerator<Guild> {
    const { cache } = client.guilds;
    const seen = (id: string) =>
      cache.get(id)?.ownerId === user || cache.get(id)?.members.cache.has(user);
    const all = await listed();
    const chosen = [...all.filter(seen), ...all.filter((id) => !seen(id))].slice(0, MAX_ASKED);
    for (const id of chosen) {
      const guild = await found(id);
      if (guild?.available) yield guild;
    }
  }

  /** What Discord does not tell is no right. */
  const unanswered =
    <T>(instead: T, about: object) =>
    (error: unknown) => {
      log.warn(
        { err: error, ...about },
        'could not list the Discord servers; nobody gets rights from them',
      );
      return instead;
    };
  const listed = () => guilds.ids().catch(unanswered([], {}));
  const found = (guild: string) => guilds.get(guild).catch(unanswered(undefined, { guild }));

  async function managesAServer(user: string): Promise<boolean> {
    for await (const guild of serversFor(user)) {
      const member = await memberOf(guild, user);
      if (member && managesServer(member)) return true;
    }
    return false;
  }

  /** A role belongs to one server; that of a server that is not known here is looked for where the person may be. */
  async function hasRole(user: string, role: string): Promise<boolean> {
    const known = client.guilds.cache.find(({ roles }) => roles.cache.has(role));
    const guild = known ? await found(known.id) : await serverWith(user, role);
    const member = guild && (await memberOf(guild, user));
    return member !== undefined && isInRole(member, role);
  }

  async function serverWith(user: string, role: string): Promise<Guild | undefined> {
    for await (const guild of serversFor(user)) if (guild.roles.cache.has(role)) return guild;
    return undefined;
  }

  return (source) => {
    const { user, member, here, isDirect } = 'here' in source ? source : standingOf(source);
    // Of a server that the bot is not in, only what comes with the interaction is known.
    if (member instanceof GuildMember) {
      return {
        mayManage: async (over) => (over === 'place' ? managesIn(here()) : managesServer(member)),
        channelOf: (id) => channelIn(member, id),
        isIn: async (role) => isInRole(member, role),
        community: IN_SERVER,
      };
    }
    return {
      mayManage: async (over) =>
        over === 'place' ? isDirect || managesIn(here()) : await managesAServer(user),
      // Of no server it is known that it is theirs.
      channelOf: async () => undefined,
      isIn: (role) => hasRole(user, role),
      community: OUTSIDE,
    };
  };
}

/**
 * Who sent it, as a member of the server if it was in one, who may be forgotten later, and what they may do in its channel.
 */
function standingOf(source: Interaction | Message): Standing {
  const isDirect = source.guildId === null;
  if (!('author' in source)) {
    const { user, member, memberPermissions } = source;
    return { user: user.id, member, here: () => memberPermissions, isDirect };
  }
  const { author, channel, member } = source;
  const here = () =>
    member?.guild.available && !channel.isDMBased() ? channel.permissionsFor(member) : null;
  return { user: author.id, member, here, isDirect };
}

/** Of a server that is away the roles are not known, and discord.js fails for want of them. */
const managesServer = (member: GuildMember) =>
  member.guild.available && managesIn(member.permissions);

/** A channel of the server of a member, which they may see. */
async function channelIn(member: GuildMember, id: string) {
  if (!member.guild.available) return undefined;
  const channel = member.guild.channels.cache.get(id);
  const permissions = channel?.permissionsFor(member);
  if (!permissions?.has(PermissionFlagsBits.ViewChannel)) return undefined;
  return { channel: id, mayManage: managesIn(permissions) };
}

const isInRole = (member: GuildMember, role: string) =>
  member.guild.available && member.roles.cache.has(role);

/** Whether somebody with these permissions looks after the server or the channel. */
function managesIn(permissions: Readonly<PermissionsBitField> | null): boolean {
  // Administrators have every permission.
  const { ManageGuild, ManageChannels } = PermissionFlagsBits;
  return permissions?.any([ManageGuild, ManageChannels]) ?? false;
}
