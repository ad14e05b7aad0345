import type { ChannelSettings } from '../channels/channel-settings.ts';
import { goesOn } from '../incidents/delivery.ts';
import type { Delivery, Topic } from '../incidents/watch-state.ts';
import { isDown } from '../shared/status.ts';

/** Whom the post of a topic calls: nobody when it is old news, or takes the place of a post that called. Pure. */
export function mentionFor(
  topic: Topic,
  { reposted }: Delivery,
  { mention }: ChannelSettings,
): string | undefined {
  return !reposted && goesOn(topic) && isUrgent(topic) ? mention?.id : undefined;
}

/** What went down and is something else by now needs nobody at once. */
function isUrgent(topic: Topic): boolean {
  if (topic.kind === 'incident') return isDown(topic);
  if (topic.kind !== 'group') return true;
  return topic.members.some((member) => member.endedAtMs === undefined && isDown(member));
}
