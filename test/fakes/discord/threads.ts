import { ChannelType, PermissionFlagsBits } from 'discord.js';
import type { createGateway } from './gateway.ts';
import type { RestAnswer, RestRequest } from './http.ts';
import { type Refusal, refusal } from './limits.ts';
import type { DiscordState, FakeChannel } from './state.ts';

/** The error for an edit in an archived thread, and for a post in a locked one. Source: Discord docs, "JSON Error Codes". */
export const ARCHIVED = refusal(400, 50_083, 'Thread is archived');

const refuse = ({ status, ...body }: Refusal): RestAnswer => ({ status, body });

/** Threads as they are opened, archived and opened again. */
export function createThreads({
  state,
  gateway,
}: {
  state: DiscordState;
  gateway: ReturnType<typeof createGateway>;
}) {
  function setArchived(channel: FakeChannel, archived: boolean) {
    if (!channel.thread_metadata) return;
    channel.thread_metadata = { ...channel.thread_metadata, archived };
    gateway.dispatch('THREAD_UPDATE', channel, 1);
  }

  return {
    setArchived,
    /** Anyone who may write in a thread may reopen it, unless it's locked. Source: Discord docs, "Modify Channel". */
    change(
      channel: FakeChannel,
      { body }: RestRequest,
      lacks: (permission: bigint) => boolean,
    ): RestAnswer | undefined {
      if (!channel.thread_metadata || body?.archived !== false) return undefined;
      if (lacks(PermissionFlagsBits.SendMessagesInThreads) || channel.thread_metadata.locked) {
        return refuse(refusal(403, 50_013, 'Missing Permissions'));
      }
      setArchived(channel, false);
      return { status: 200, body: channel };
    },
    /** Opens the thread under a message. */
    start(channel: FakeChannel, messageId: string, name: string): RestAnswer {
      if (channel.type !== ChannelType.GuildText) {
        return refuse(refusal(400, 50_024, 'Cannot execute action on this channel type'));
      }
      if (state.channels.has(messageId)) {
        const text = 'A thread has already been created for this message';
        return refuse(refusal(400, 160_004, text));
      }
      if (name.length < 1 || name.length > 100) {
        return refuse(refusal(400, 50_035, 'Invalid Form Body: name must be 1-100 in length'));
      }
      const thread = state.addChannel({
        id: messageId,
        type: ChannelType.PublicThread,
        parent_id: channel.id,
        name,
        owner_id: state.bot.id,
        thread_metadata: { archived: false, locked: false, auto_archive_duration: 1_440 },
      });
      gateway.dispatch('THREAD_CREATE', { ...thread, newly_created: true }, 1);
      return { status: 201, body: thread };
    },
  };
}
