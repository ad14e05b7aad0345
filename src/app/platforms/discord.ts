import { z } from 'zod';
import { httpUrl, secret, shards, trueOrFalse } from '../../config/variable-types.ts';
import { registration } from './registration.ts';

const loadDiscord = () => import('../../discord/discord.ts');

export const discord = registration({
  name: 'discord',
  title: 'Discord',
  mention: {
    // Source: Discord docs, "Message Formatting".
    pattern: /^<@&(?<id>\d{17,20})>$/,
    words: 'a role, picked from the list that Discord shows after @',
  },
  person: { pattern: /^<@!?(?<id>\d{17,20})>$/ },
  channel: { pattern: /^<#(?<id>\d{17,20})>$/ },
  examples: { channel: 'discord:123', person: 'discord:123456789012345678' },
  variables: {
    token: secret('DISCORD_TOKEN', 'bot token of the Discord application'),
    guildId: {
      name: 'DISCORD_GUILD_ID',
      about:
        'id of a server to register the commands in, where they appear at once; if unset, they are global',
      shown: '',
      schema: z
        .string()
        .regex(/^\d{17,20}$/, 'must be a server id of 17 to 20 digits')
        .optional(),
    },
    apiUrl: {
      name: 'DISCORD_API_URL',
      about: 'Discord API URL, for a proxy or a compatible API',
      shown: 'https://discord.com/api',
      schema: httpUrl().default('https://discord.com/api'),
    },
    messageContent: {
      name: 'DISCORD_MESSAGE_CONTENT',
      about:
        '`true` if the privileged Message Content Intent is on: the bot follows threads without a mention and reads threads between people',
      shown: 'false',
      schema: trueOrFalse.prefault('false'),
    },
    shards: {
      name: 'DISCORD_SHARDS',
      about:
        'number of connections that share the servers, 1 to 100; `auto` uses as many as Discord recommends',
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
      load: loadDiscord,
      async create({ isHeld, limits, log, onFatal }) {
        const { createDiscord } = await loadDiscord();
        return await createDiscord({ ...settings, isHeld, limits, log, onFatal });
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
