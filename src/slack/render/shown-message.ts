import type { types } from '@slack/bolt';

/** A message as Slack gives it back, as far as it is shown again. */
export interface ShownMessage {
  ts: string;
  text?: string;
  blocks?: types.KnownBlock[];
}
