import { type Client, PermissionFlagsBits, type PermissionsBitField } from 'discord.js';
import { withoutMentions } from './text.ts';

/** Permissions that Askwatch uses, as Discord's settings call them. */
const NAMES = {
  ViewChannel: 'View Channel',
  SendMessages: 'Send Messages',
  SendMessagesInThreads: 'Send Messages in Threads',
  CreatePublicThreads: 'Create Public Threads',
  EmbedLinks: 'Embed Links',
  AttachFiles: 'Attach Files',
  ReadMessageHistory: 'Read Message History',
} as const;
type Permission = keyof typeof NAMES;

/** What showing cards and answers takes in a channel, and in a thread; threads can be done without. */
const IN_CHANNEL: Permission[] = [
  'ViewChannel',
  'SendMessages',
  'EmbedLinks',
  'AttachFiles',
  'ReadMessageHistory',
];
const IN_THREAD: Permission[] = [
  'ViewChannel',
  'SendMessagesInThreads',
  'EmbedLinks',
  'AttachFiles',
  'ReadMessageHistory',
];

/** Which of the needed permissions are missing in the named channel, and where to give them; `undefined` when none is. Pure. */
function lackSentence(
  permissions: Readonly<PermissionsBitField>,
  needed: readonly Permission[],
  channel: string,
): string | undefined {
  const missing = needed.filter((name) => !permissions.has(PermissionFlagsBits[name]));
  if (missing.length === 0) return undefined;
  const names = missing.map((name) => NAMES[name]).join(', ');
  return `Askwatch lacks the permission ${names} in ${channel}. Give it that there: Edit Channel, Permissions, the role of Askwatch.`;
}

/** What is missing in a channel or thread, as far as Discord has told of it. */
export type LacksIn = (channel: string) => string | undefined;

export function createLacksIn(client: Client): LacksIn {
  return (id) => {
    const channel = client.channels.cache.get(id);
    const { user } = client;
    if (!channel || !user || channel.isDMBased() || !('permissionsFor' in channel)) {
      return undefined;
    }
    const permissions = channel.permissionsFor(user);
    const of = channel.isThread() ? channel.parent : channel;
    const needed = channel.isThread() ? IN_THREAD : IN_CHANNEL;
    return permissions
      ? lackSentence(permissions, needed, `#${withoutMentions(of?.name ?? id)}`)
      : undefined;
  };
}
