import { z } from 'zod';
import { address, secret, shards, trueOrFalse, variable } from '../../config/variable-types.ts';
import { given, registration } from './registration.ts';

export const discord = registration({
  name: 'discord',
  title: 'Discord',
  mention: {
    // Source: Discord docs, "Message Formatting".
    pattern: /^<@&(?<id>\d{17,20})>$/,
    words: 'a role, chosen from the list that Discord shows after @',
  },
  examples: { channel: 'discord:123', person: 'discord:123456789012345678' },
  variables: {
    DISCORD_TOKEN: secret('Discord', 'bot token of the Discord application'),
    DISCORD_GUILD_ID: variable({
      group: 'Discord',
      about: 'a server where commands appear at once; without it they are global',
      shown: '',
      schema: z
        .string()
        .regex(/^\d{17,20}$/, 'must be the server id, 17 to 20 digits')
        .optional(),
    }),
    DISCORD_API_URL: variable({
      group: 'Discord',
      about: 'another Discord-compatible address or a proxy',
      shown: 'https://discord.com/api',
      schema: address('https://discord.com/api'),
    }),
    DISCORD_MESSAGE_CONTENT: variable({
      group: 'Discord',
      about: '`true` if that privileged intent is on: follow threads without a mention',
      shown: 'false',
      schema: trueOrFalse.prefault('false'),
    }),
    DISCORD_SHARDS: variable({
      group: 'Discord',
      about:
        'connections that share the servers, 1 to 100; `auto` is as many as Discord recommends',
      shown: 'auto',
      schema: shards,
    }),
  },
  problems: (v) => [
    [
      v.DISCORD_TOKEN === undefined && v.DISCORD_GUILD_ID !== undefined,
      'DISCORD_TOKEN: set it too, or unset DISCORD_GUILD_ID',
    ],
  ],
  configure(v, { channels }) {
    if (!v.DISCORD_TOKEN) return undefined;
    const settings = {
      token: v.DISCORD_TOKEN,
      ...given('guildId', v.DISCORD_GUILD_ID),
      apiUrl: v.DISCORD_API_URL,
      messageContent: v.DISCORD_MESSAGE_CONTENT,
      shards: v.DISCORD_SHARDS,
    };
    return {
      settings,
      async create({ limits, log, onFatal }) {
        const { createDiscord } = await import('../../discord/discord.ts');
        return await createDiscord({ ...settings, limits, log, onFatal });
      },
      async check({ fetch }) {
        const { checkDiscord } = await import('../../discord/doctor.ts');
        return await checkDiscord({ ...settings, channels, fetch });
      },
    };
  },
  async manifests(commands) {
    const { discordCommands } = await import('../../discord/api/commands.ts');
    return { 'manifests/discord.json': discordCommands(commands) };
  },
});
