import { ApplicationFlags } from 'discord.js';
import type { RestRequest } from './http.ts';
import { type Refusal, refusal } from './limits.ts';
import type { RouteSettings } from './routes.ts';
import type { DiscordState } from './state.ts';
import { guildOf, memberOf } from './wire.ts';

type Found = { status: 200; body: unknown } | { status: 404; refused: Refusal };

/**
 * Routes about the application, its servers, and the bot's own membership; `undefined` for any other route.
 * Source: Discord docs, "Get Current Application", "Get Current User Guilds", "Get Guild", "Get Guild Channels", "List Active
 * Guild Threads", "Get Guild Member".
 */
export function directoryRoute(
  state: DiscordState,
  { method, path, query }: RestRequest,
  settings: RouteSettings,
): Found | undefined {
  if (method !== 'GET') return undefined;
  const found = (body: unknown): Found => ({ status: 200, body });
  const unknown = (code: number, what: string): Found => ({
    status: 404,
    refused: refusal(404, code, `Unknown ${what}`),
  });
  if (path === '/applications/@me') {
    const { messageContentAllowed, interactionsEndpointUrl } = settings;
    return found({
      id: state.applicationId,
      name: 'Askwatch',
      bot: state.bot,
      flags: messageContentAllowed ? ApplicationFlags.GatewayMessageContentLimited : 0,
      interactions_endpoint_url: interactionsEndpointUrl,
    });
  }
  if (path === '/users/@me/guilds') {
    const after = BigInt(query.get('after') ?? 0);
    const ids = state.guilds().filter((id) => BigInt(id) > after);
    ids.sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
    const page = ids.slice(0, Number(query.get('limit') ?? 200));
    return found(page.map((id) => ({ id, name: 'Test server' })));
  }
  const [, guild, below, member] =
    /^\/guilds\/(\d+)(?:\/(channels|threads\/active|members\/(\d+)))?$/.exec(path) ?? [];
  if (guild === undefined) return undefined;
  if (!state.guilds().includes(guild)) return unknown(10_004, 'Guild');
  const { channels, threads, members, unavailable, ...alone } = guildOf(state, guild);
  if (below === 'channels') return found(channels);
  if (below === 'threads/active') return found({ threads, members: [] });
  if (member === undefined) return found(alone);
  return state.isIn(member, guild)
    ? found(memberOf(state, member, guild))
    : unknown(10_007, 'Member');
}
