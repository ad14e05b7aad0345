import {
  type APIGuildMember,
  type APIOverwrite,
  type APIRole,
  type Client,
  OverwriteType,
  PermissionFlagsBits,
  PermissionsBitField,
} from 'discord.js';
import { withoutMentions } from '../render/text.ts';

/** A channel's settings say "View Channel", a server's "View Channels". */
const shownName = (name: PermissionName) =>
  name === 'ViewChannel' ? 'View Channel' : PERMISSIONS[name].shown;

/**
 * Which of the needed permissions are missing in a channel or thread, and where to give them, as far as Discord has announced
 * it; `undefined` when none is.
 */
export type MissingPermissions = (channel: string) => string | undefined;

export function createMissingPermissions(client: Client): MissingPermissions {
  return (id) => {
    const channel = client.channels.cache.get(id);
    const { user } = client;
    if (!channel || !user || channel.isDMBased() || !('permissionsFor' in channel)) {
      return undefined;
    }
    const permissions = channel.permissionsFor(user);
    const of = channel.isThread() ? channel.parent : channel;
    const needed = channel.isThread() ? IN_THREAD : IN_CHANNEL;
    const missing = needed.filter((name) => permissions?.has(PermissionFlagsBits[name]) === false);
    if (missing.length === 0) return undefined;
    const names = missing.map(shownName).join(', ');
    const where = `#${withoutMentions(of?.name ?? id)}`;
    return `Askwatch lacks the permission ${names} in ${where}. Grant it under Edit Channel, Permissions, Askwatch’s role.`;
  };
}

/** All permissions of Askwatch in a server: Discord's names, the labels in its settings, and their purpose. */
export const PERMISSIONS = {
  ViewChannel: { shown: 'View Channels', use: 'sees the channel and questions in it' },
  SendMessages: {
    shown: 'Send Messages',
    use: 'posts alerts, and answers outside threads',
  },
  SendMessagesInThreads: { shown: 'Send Messages in Threads', use: 'answers in threads' },
  CreatePublicThreads: { shown: 'Create Public Threads', use: 'opens a thread for each question' },
  EmbedLinks: { shown: 'Embed Links', use: 'shows alerts as embeds' },
  AttachFiles: {
    shown: 'Attach Files',
    use: 'attaches charts, postmortems and the rest of a very long answer',
  },
  ReadMessageHistory: {
    shown: 'Read Message History',
    use: 'reads the thread of a question, replies under alerts, and checks whether an alert was already posted',
  },
} as const satisfies Partial<
  Record<keyof typeof PermissionFlagsBits, { shown: string; use: string }>
>;

export type PermissionName = keyof typeof PERMISSIONS;

export const PERMISSION_NAMES = Object.keys(PERMISSIONS) as PermissionName[];

/** Without these, answers are posted in the channel. */
export const FOR_THREADS: readonly PermissionName[] = [
  'CreatePublicThreads',
  'SendMessagesInThreads',
];

/** Needed for cards and answers in a channel, and in a thread. */
const IN_CHANNEL = PERMISSION_NAMES.filter((name) => !FOR_THREADS.includes(name));
export const IN_THREAD = PERMISSION_NAMES.filter(
  (name) => name !== 'SendMessages' && name !== 'CreatePublicThreads',
);

/**
 * The address at which somebody adds the bot to a server, or to this one, with these permissions and its commands.
 * Source: Discord docs, "OAuth2", "Bot Authorization Flow".
 */
export function inviteLink(applicationId: string, guildId?: string): string {
  const bits = new PermissionsBitField(PERMISSION_NAMES.map((name) => PermissionFlagsBits[name]));
  const server = guildId === undefined ? '' : `&guild_id=${guildId}`;
  return `https://discord.com/oauth2/authorize?client_id=${applicationId}&scope=bot+applications.commands&permissions=${bits.bitfield}${server}`;
}

/**
 * A member's permissions in a channel from the REST API, without a gateway. Source: Discord docs, "Permissions", "Permission
 * Overwrites".
 */
export function permissionsIn(
  overwrites: readonly APIOverwrite[],
  {
    guild,
    member,
    userId,
  }: { guild: { id: string; roles: APIRole[] }; member: APIGuildMember; userId: string },
): Readonly<PermissionsBitField> {
  // The role of everybody has the server's own id.
  const applies = (id: string) => id === guild.id || member.roles.includes(id);
  const base = guild.roles
    .filter(({ id }) => applies(id))
    .reduce((all, { permissions }) => all | BigInt(permissions), 0n);
  if ((base & PermissionFlagsBits.Administrator) !== 0n) {
    return new PermissionsBitField(PermissionsBitField.All);
  }
  const apply = (to: bigint, which: (overwrite: APIOverwrite) => boolean) => {
    const chosen = overwrites.filter(which);
    const denied = chosen.reduce((all, { deny }) => all | BigInt(deny), 0n);
    const allowed = chosen.reduce((all, { allow }) => all | BigInt(allow), 0n);
    return (to & ~denied) | allowed;
  };
  const forAll = apply(base, ({ id }) => id === guild.id);
  const forRoles = apply(
    forAll,
    ({ id, type }) => type === OverwriteType.Role && id !== guild.id && applies(id),
  );
  const forMember = apply(
    forRoles,
    ({ id, type }) => type === OverwriteType.Member && id === userId,
  );
  return new PermissionsBitField(forMember);
}
