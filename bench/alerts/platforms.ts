import { startDiscord } from '../../test/fakes/discord/discord.ts';
import { startSlack } from '../../test/fakes/slack/slack.ts';

/** A message as it came to a platform and was taken. */
export interface Arrival {
  channel: string;
  /** A new alert, a change of one, or a short line under one. */
  what: 'post' | 'edit' | 'line';
  /** The alert's title; empty for a line. */
  title: string;
  /** Unix time, milliseconds. */
  atMs: number;
}

/** A fake of a platform as the bench needs it. It answers at once: what a network takes is not in the figures. */
export interface AlertPlatform {
  name: string;
  env: Record<string, string>;
  /** Gives the id of a new channel. */
  addChannel(): string;
  /** From now on each post to the channel is refused for so long. */
  limit(channel: string, retryAfterSeconds: number): void;
  /** The number of refused calls. */
  refused(): number;
  /** Messages so far, oldest first. */
  arrivals(): Arrival[];
  close(): Promise<void>;
}

/** More than are ever sent. */
const ALWAYS = 1_000_000;

export const startPlatforms = (): Promise<AlertPlatform[]> =>
  Promise.all([startSlackPlatform(), startDiscordPlatform()]);

async function startSlackPlatform(): Promise<AlertPlatform> {
  let close = async () => {};
  // Rate limits are measured by a separate case.
  const slack = await startSlack(
    (end) => {
      close = end;
    },
    { limits: false },
  );
  let channels = 0;
  return {
    name: 'slack',
    env: {
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      SLACK_API_URL: slack.apiUrl,
    },
    addChannel() {
      channels += 1;
      return slack.addChannel({ id: `C00BENCH${channels}` }).id;
    },
    limit: (channel, retryAfterSeconds) =>
      slack.fail(
        'chat.postMessage',
        { kind: 'limited', retryAfterSeconds },
        { times: ALWAYS, channel },
      ),
    refused: () => slack.calls.filter(({ outcome }) => outcome === '429').length,
    arrivals() {
      // The fake notes times on the monotonic clock.
      const aheadMs = Date.now() - performance.now();
      return slack.calls.flatMap(({ method, args, outcome, atMs }): Arrival[] => {
        const isPost = method === 'chat.postMessage';
        if (outcome !== 'ok' || (!isPost && method !== 'chat.update')) return [];
        const what = isPost ? (args.thread_ts === undefined ? 'post' : 'line') : 'edit';
        const [title = ''] = what === 'line' ? [] : String(args.text).split('\n');
        return [{ channel: String(args.channel), what, title, atMs: atMs + aheadMs }];
      });
    },
    close: () => close(),
  };
}

async function startDiscordPlatform(): Promise<AlertPlatform> {
  let close = async () => {};
  const discord = await startDiscord({
    atEnd: (end) => {
      close = end;
    },
  });
  let channels = 0;
  return {
    name: 'discord',
    env: {
      DISCORD_TOKEN: discord.settings.token,
      DISCORD_GUILD_ID: discord.guildId,
      DISCORD_API_URL: discord.api,
    },
    addChannel() {
      channels += 1;
      return discord.addChannel({ name: `bench${channels}` }).id;
    },
    limit: (channel, seconds) =>
      discord.rateLimit({
        ...{ method: 'POST', path: new RegExp(`^/channels/${channel}/messages$`) },
        ...{ times: ALWAYS, seconds },
      }),
    refused: () => discord.requests.filter(({ status }) => status === 429).length,
    arrivals: () =>
      discord.requests.flatMap(({ method, path, body, status, atMs }): Arrival[] => {
        const [, channel = ''] = /^\/channels\/(\d+)\/messages(?:\/\d+)?$/.exec(path) ?? [];
        if (channel === '' || status !== 200 || method === 'GET') return [];
        const [embed] = (body?.embeds ?? []) as Array<{ title?: string }>;
        const isLine = !embed || body?.message_reference !== undefined;
        const what = method === 'PATCH' ? 'edit' : isLine ? 'line' : 'post';
        return [{ channel, what, title: embed?.title ?? '', atMs }];
      }),
    close: () => close(),
  };
}
