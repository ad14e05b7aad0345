import {
  type CacheFactory,
  Collection,
  type GuildMember,
  LimitedCollection,
  Options,
  type PermissionOverwrites,
  type PermissionsBitField,
  type User,
} from 'discord.js';

/** Users kept besides the bot itself; each arrives anew with whatever it says. */
const MAX_USERS = 200;

/** Members kept of each server, and there may be a thousand of those. */
const MAX_MEMBERS = 20;

/** Sets of permissions that are shared; from then on the newest are. */
const MAX_SHARED = 1_000;

/** What nobody here asks discord.js for. */
const NEVER_KEPT: ReadonlySet<string> = new Set([
  'AutoModerationRuleManager',
  'DMMessageManager',
  'GuildBanManager',
  'GuildEmojiManager',
  'GuildInviteManager',
  'GuildMessageManager',
  'GuildScheduledEventManager',
  'GuildStickerManager',
  'MessageManager',
  'PresenceManager',
  'ReactionManager',
  'StageInstanceManager',
  'ThreadMemberManager',
  'VoiceStateManager',
]);

/**
 * What discord.js keeps of Discord: servers, channels, roles and threads, few people, no messages. What is not kept is one
 * empty collection for all managers, and equal sets of permissions are one: a server has hundreds of either.
 */
export function createCaches(): CacheFactory {
  const nothing = new LimitedCollection<string, never>({ maxSize: 0 });
  const createOverwrites = sharingOverwrites();
  const isBot = ({ client, id }: GuildMember | User) => id === client.user.id;
  const limited = Options.cacheWithLimits({
    ...Options.DefaultMakeCacheSettings,
    GuildMemberManager: { maxSize: MAX_MEMBERS, keepOverLimit: isBot },
    UserManager: { maxSize: MAX_USERS, keepOverLimit: isBot },
  });
  return (type, holds, manager) => {
    if (NEVER_KEPT.has(manager.name) || NEVER_KEPT.has(type.name)) return nothing as never;
    // discord.js knows no limit for these, and its types none of them.
    if ((manager.name as string) === 'PermissionOverwriteManager')
      return createOverwrites() as never;
    return limited(type, holds, manager);
  };
}

/**
 * Collections of the overwrites of a channel, in which equal sets of permissions are one. discord.js freezes these sets, and
 * replaces them to change them.
 */
function sharingOverwrites() {
  const seen = new Map<bigint, Readonly<PermissionsBitField>>();

  /** Gives an equal set that was seen before, if there is one. */
  function share(set: Readonly<PermissionsBitField>) {
    const known = seen.get(set.bitfield);
    if (known) return known;
    if (seen.size >= MAX_SHARED) seen.clear();
    seen.set(set.bitfield, set);
    return set;
  }

  // One function for all of them: there are as many collections as channels.
  function setSharing<T extends Collection<string, PermissionOverwrites>>(
    this: T,
    key: string,
    overwrite: PermissionOverwrites,
  ): T {
    overwrite.allow = share(overwrite.allow);
    overwrite.deny = share(overwrite.deny);
    return Collection.prototype.set.call(this, key, overwrite) as T;
  }
  return () => Object.assign(new Collection<string, PermissionOverwrites>(), { set: setSharing });
}
