import type { ChannelSettings } from '../channels/channel-settings.ts';
import { goesOn } from '../incidents/delivery.ts';
import type { Alert, Delivery } from '../incidents/watch-state.ts';
import { isDown } from '../shared/status.ts';

/** Whom the post of a alert calls: nobody when it is old news, or takes the place of a post that called. Pure. */
export function mentionFor(
  alert: Alert,
  { reposted }: Delivery,
  { mention }: ChannelSettings,
): string | undefined {
  return !reposted && goesOn(alert) && isUrgent(alert) ? mention?.id : undefined;
}

/** What went down and is something else by now needs nobody at once. */
function isUrgent(alert: Alert): boolean {
  if (alert.kind === 'incident') return isDown(alert);
  if (alert.kind !== 'group') return true;
  return alert.members.some((member) => member.endedAtMs === undefined && isDown(member));
}
