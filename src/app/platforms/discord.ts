import { z } from 'zod';
import { httpUrl, secret, shards, trueOrFalse } from '../../config/variable-types.ts';
import { registration } from './registration.ts';

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
    token: secret('DISCORD_TOKEN', 'bot token of the Discord application'),
    guildId: {
      name: 'DISCORD_GUILD_ID',
      about: 'a server where commands appear at once; without it they are global',
      shown: '',
      schema: z
        .string()
        .regex(/^\d{17,20}$/, 'must be the server id, 17 to 20 digits')
        .optional(),
    },
    apiUrl: {
      name: 'DISCORD_API_URL',
      about: 'another Discord-compatible address or a proxy',
      shown: 'https://discord.com/api',
      schema: httpUrl().default('https://discord.com/api'),
    },
    messageContent: {
      name: 'DISCORD_MESSAGE_CONTENT',
      about: '`true` if that privileged intent is on: follow threads without a mention',
      shown: 'false',
      schema: trueOrFalse.prefault('false'),
    },
    shards: {
      name: 'DISCORD_SHARDS',
      about:
        'connections that share the servers, 1 to 100; `auto` is as many as Discord recommends',
      shown: 'auto',
      schema: shards,
    },
  },
  problems: (v) => [
    [
      v.token === undefined && v.guildId !== undefined,
      'DISCORD_TOKEN: set it too, or unset DISCORD_GUILD_ID',
    ],
  ],
  configure({ token, ...rest }, { channels }) {
    if (token === undefined) return undefined;
    const settings = { token, ...rest };
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
