import {
  type APIApplication,
  type APIChannel,
  type APIGatewayBotInfo,
  type APIGuild,
  type APIGuildMember,
  type APIOverwrite,
  ApplicationFlags,
  ChannelType,
  DiscordAPIError,
  PermissionFlagsBits,
  RateLimitError,
  REST,
  type RESTOptions,
  Routes,
} from 'discord.js';
import { type Finding, ok, problem, shortName, warning } from '../bot/shared/finding.ts';
import { counted } from '../bot/shared/text-format.ts';
import { SNOWFLAKE } from './api/channel-api.ts';
import { INTENT_REFUSED, TOKEN_REFUSED } from './api/client.ts';
import { isRefusal, reasonOf } from './api/errors.ts';
import { hasInteractionsEndpoint, INTERACTIONS_ENDPOINT_SET } from './api/interactions-endpoint.ts';
import {
  FOR_THREADS,
  IN_THREAD,
  inviteLink,
  PERMISSION_NAMES,
  PERMISSIONS,
  type PermissionName,
  permissionsIn,
} from './api/permissions.ts';
import { checkShards, type Shards } from './api/shards.ts';

export interface DiscordSetup {
  token: string;
  guildId?: string;
  apiUrl: string;
  messageContent: boolean;
  shards?: Shards;
  channels: readonly string[];
  fetch: typeof fetch;
}

type Get = <T>(route: `/${string}`) => Promise<T>;

interface CheckedDiscord extends DiscordSetup {
  get: Get;
  application: APIApplication;
}

const NOT_FOR_MESSAGES = new Set([
  ChannelType.GuildCategory,
  ChannelType.GuildDirectory,
  ChannelType.GuildForum,
  ChannelType.GuildMedia,
]);

/** Checks the token, the intent, the server and the channels over REST only, so a running bot keeps its connection. */
export async function checkDiscord(setup: DiscordSetup): Promise<Finding[]> {
  const get = createGet(setup);
  let application: APIApplication;
  try {
    application = await get<APIApplication>(Routes.currentApplication());
    if (typeof application?.name !== 'string') throw new Error('the address is not Discord’s');
  } catch (error) {
    return [failed('Discord bot', error, setup)];
  }
  const checked = { ...setup, get, application };
  const found = await Promise.all([
    checkConnections(checked),
    checkServer(checked),
    ...setup.channels.map((channel) => checkChannel(channel, checked)),
  ]);
  return [
    checkApplication(application),
    checkIntent(application, setup.messageContent),
    ...found,
    ok('Discord invite', inviteLink(application.id, setup.guildId)),
  ];
}

function createGet({ apiUrl, token, fetch }: DiscordSetup): Get {
  const rest = new REST({
    api: apiUrl,
    retries: 0,
    rejectOnRateLimit: () => true,
    // Only reads are made, which have no body.
    makeRequest: ((url, { headers }) =>
      fetch(url, { headers: headers as Record<string, string> })) as RESTOptions['makeRequest'],
  }).setToken(token);
  return async <T>(route: `/${string}`) => {
    const answer = await rest.get(route);
    if (answer instanceof ArrayBuffer) throw new Error('a web page answered instead of an API');
    return answer as T;
  };
}

function checkApplication(application: APIApplication): Finding {
  const check = 'Discord bot';
  if (hasInteractionsEndpoint(application)) return problem(check, INTERACTIONS_ENDPOINT_SET);
  return ok(check, `signed in as the application ${shortName(application.name)}`);
}

/** Large and small bots have different flags. Source: Discord docs, "Application Flags". */
function checkIntent({ flags }: APIApplication, wanted: boolean): Finding {
  const check = 'Discord intent';
  const { GatewayMessageContent, GatewayMessageContentLimited } = ApplicationFlags;
  const isOn = (flags & (GatewayMessageContent | GatewayMessageContentLimited)) !== 0;
  if (wanted && !isOn) return problem(check, INTENT_REFUSED);
  if (wanted) return ok(check, 'Message Content Intent is on, so the bot follows threads');
  return ok(
    check,
    'DISCORD_MESSAGE_CONTENT is false, so in threads the bot needs a mention or a reply, and it can’t read messages between people',
  );
}

async function checkConnections(checked: CheckedDiscord): Promise<Finding> {
  const { get, shards = 'auto' } = checked;
  try {
    return checkShards(shards, await get<APIGatewayBotInfo>(Routes.gatewayBot()));
  } catch (error) {
    return failed('Discord shards', error, checked);
  }
}

async function checkServer(checked: CheckedDiscord): Promise<Finding> {
  const check = 'Discord server';
  const { get, guildId, application } = checked;
  try {
    if (guildId !== undefined) {
      const { name } = await get<APIGuild>(Routes.guild(guildId));
      return ok(check, shortName(name));
    }
    const guilds = await get<unknown[]>(Routes.userGuilds());
    if (guilds.length > 0) return ok(check, `the bot is in ${counted(guilds.length, 'server')}`);
    return problem(check, `The bot isn’t in any server. Add it: ${inviteLink(application.id)}`);
  } catch (error) {
    if (guildId === undefined || !isRefusal(error)) return failed(check, error, checked);
    const link = inviteLink(application.id, guildId);
    const text = `DISCORD_GUILD_ID: the bot isn’t in a server with this id. Check the id, or add the bot: ${link}`;
    return problem(check, text);
  }
}

async function checkChannel(channelId: string, checked: CheckedDiscord): Promise<Finding> {
  const check = `Discord ${shortName(channelId)}`;
  if (!SNOWFLAKE.test(channelId)) {
    const text =
      'ALERT_CHANNELS: this isn’t a channel id. With Developer Mode on, right-click the channel to copy its id.';
    return problem(check, text);
  }
  try {
    const channel = await checked.get<APIChannel>(Routes.channel(channelId));
    if (NOT_FOR_MESSAGES.has(channel.type)) {
      return problem(
        check,
        'This type of channel has no messages. Use a text channel or a thread.',
      );
    }
    if (!('guild_id' in channel) || channel.guild_id === undefined) {
      return ok(check, 'a direct conversation');
    }
    const missing = await missingIn(channel, channel.guild_id, checked);
    return judge(check, missing, 'thread_metadata' in channel);
  } catch (error) {
    return isRefusal(error) ? problem(check, reasonOf(error)) : failed(check, error, checked);
  }
}

/** The bot's missing permissions. A thread has the ones of its channel. */
async function missingIn(
  channel: APIChannel,
  guildId: string,
  { get, application }: CheckedDiscord,
) {
  const userId = application.bot?.id ?? application.id;
  const parentId = 'thread_metadata' in channel ? channel.parent_id : undefined;
  const [guild, member, holder] = await Promise.all([
    get<APIGuild>(Routes.guild(guildId)),
    get<APIGuildMember>(Routes.guildMember(guildId, userId)),
    parentId ? get<APIChannel>(Routes.channel(parentId)) : channel,
  ]);
  const overwrites: APIOverwrite[] =
    'permission_overwrites' in holder ? (holder.permission_overwrites ?? []) : [];
  const mine = permissionsIn(overwrites, { guild, member, userId });
  const needed = parentId ? IN_THREAD : PERMISSION_NAMES;
  return needed.filter((name) => !mine.has(PermissionFlagsBits[name]));
}

function judge(check: string, missing: PermissionName[], isThread: boolean): Finding {
  if (missing.length === 0) return ok(check, 'the bot can post there');
  const names = missing.map((name) => PERMISSIONS[name].shown).join(', ');
  const text = `The bot lacks ${names}. Grant this to the bot or its role under the channel’s "Permissions".`;
  const mayPost = !isThread && missing.every((name) => FOR_THREADS.includes(name));
  return mayPost ? warning(check, text) : problem(check, text);
}

function failed(check: string, error: unknown, { apiUrl }: DiscordSetup): Finding {
  if (error instanceof RateLimitError) {
    return warning(
      check,
      'Discord is rate limiting, so this was not checked. Try again in a minute.',
    );
  }
  if (error instanceof DiscordAPIError && error.status === 401) {
    return problem(check, TOKEN_REFUSED);
  }
  const text = `${reasonOf(error)} The address was ${apiUrl}. Check the network, or DISCORD_API_URL.`;
  return problem(check, text);
}
