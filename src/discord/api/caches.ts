import {
  type CacheFactory,
  type GuildMember,
  LimitedCollection,
  Options,
  type User,
} from 'discord.js';

/** Users kept in addition to the bot. Each event brings its user along. */
const MAX_USERS = 200;

/** Per server, and there may be a thousand servers. */
const MAX_MEMBERS = 20;

/** Unused managers of discord.js. */
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
 * Keeps servers, channels, roles, threads and few people, but no messages. All empty managers share one collection, since a
 * server has hundreds of them.
 */
export function createCaches(): CacheFactory {
  const nothing = new LimitedCollection<string, never>({ maxSize: 0 });
  const isBot = ({ client, id }: GuildMember | User) => id === client.user.id;
  const limited = Options.cacheWithLimits({
    ...Options.DefaultMakeCacheSettings,
    GuildMemberManager: { maxSize: MAX_MEMBERS, keepOverLimit: isBot },
    UserManager: { maxSize: MAX_USERS, keepOverLimit: isBot },
  });
  return (type, holds, manager) => {
    if (NEVER_KEPT.has(manager.name) || NEVER_KEPT.has(type.name)) return nothing as never;
    return limited(type, holds, manager);
  };
}
