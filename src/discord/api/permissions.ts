import { type Client, PermissionFlagsBits, type PermissionsBitField } from 'discord.js';
import { withoutMentions } from '../render/text.ts';
import { PERMISSIONS, type PermissionName } from './invite.ts';

/** As the settings of a channel call it; those of a server say View Channels. */
const shownName = (name: PermissionName) =>
  name === 'ViewChannel' ? 'View Channel' : PERMISSIONS[name].shown;

/** What showing cards and answers takes in a channel, and in a thread; threads can be done without. */
const IN_CHANNEL: PermissionName[] = [
  'ViewChannel',
  'SendMessages',
  'EmbedLinks',
  'AttachFiles',
  'ReadMessageHistory',
];
const IN_THREAD: PermissionName[] = [
  'ViewChannel',
  'SendMessagesInThreads',
  'EmbedLinks',
  'AttachFiles',
  'ReadMessageHistory',
];

/** Which of the needed permissions are missing in the named channel, and where to give them; `undefined` when none is. Pure. */
function lackSentence(
  permissions: Readonly<PermissionsBitField>,
  needed: readonly PermissionName[],
  channel: string,
): string | undefined {
  const missing = needed.filter((name) => !permissions.has(PermissionFlagsBits[name]));
  if (missing.length === 0) return undefined;
  const names = missing.map(shownName).join(', ');
  return `Askwatch lacks the permission ${names} in ${channel}. Give it that there: Edit Channel, Permissions, the role of Askwatch.`;
}

/** What is missing in a channel or thread, as far as Discord has told of it. */
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
    return permissions
      ? lackSentence(permissions, needed, `#${withoutMentions(of?.name ?? id)}`)
      : undefined;
  };
}
