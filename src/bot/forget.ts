import type { Logger } from 'pino';
import type { Bot } from './bot.ts';
import type { ChannelsAsking } from './channel-asking.ts';
import type { Channels } from './channels.ts';
import { type Conversations, conversationKey } from './conversations.ts';
import { placeKey } from './platform.ts';

/** Forgets what was kept for a thread, or for a channel: what was said, which alerts it hears, its model and prompt. */
export function createForget(options: {
  conversations: Conversations;
  channels: Channels;
  asking: ChannelsAsking;
  log: Logger;
}): Bot['forget'] {
  const { conversations, channels, asking, log } = options;
  return async (place, thread) => {
    if (thread !== undefined) {
      await conversations.remove(conversationKey(place, thread));
      return;
    }
    await conversations.removeAll(place);
    await asking.change(place, { model: null, prompt: null });
    const heard = await channels.remove(place);
    if (heard) log.warn({ place: placeKey(place) }, 'a channel that heard alerts was deleted');
  };
}
