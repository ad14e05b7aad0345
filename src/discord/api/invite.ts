import { PermissionFlagsBits, PermissionsBitField } from 'discord.js';

/** What Askwatch may do in a server, by Discord's names, as its pages show them, and what for. It asks for nothing else. */
export const PERMISSIONS = {
  ViewChannel: { shown: 'View Channels', use: 'hears questions in a channel, and finds it' },
  SendMessages: {
    shown: 'Send Messages',
    use: 'posts alerts, and answers where there are no threads',
  },
  SendMessagesInThreads: { shown: 'Send Messages in Threads', use: 'answers in threads' },
  CreatePublicThreads: { shown: 'Create Public Threads', use: 'opens a thread for each question' },
  EmbedLinks: { shown: 'Embed Links', use: 'alerts are embeds' },
  AttachFiles: { shown: 'Attach Files', use: 'charts, and the rest of a very long answer' },
  ReadMessageHistory: {
    shown: 'Read Message History',
    use: 'replies under alerts, and looks up whether an alert was posted already',
  },
} as const satisfies Partial<
  Record<keyof typeof PermissionFlagsBits, { shown: string; use: string }>
>;
export type PermissionName = keyof typeof PERMISSIONS;

export const PERMISSION_NAMES = Object.keys(PERMISSIONS) as PermissionName[];

/**
 * The address at which somebody adds the bot to a server, or to this one, with these permissions and its commands.
 * Source: Discord docs, "OAuth2", "Bot Authorization Flow".
 */
export function inviteLink(applicationId: string, guildId?: string): string {
  const bits = new PermissionsBitField(PERMISSION_NAMES.map((name) => PermissionFlagsBits[name]));
  const server = guildId === undefined ? '' : `&guild_id=${guildId}`;
  return `https://discord.com/oauth2/authorize?client_id=${applicationId}&scope=bot+applications.commands&permissions=${bits.bitfield}${server}`;
}
