import type { types } from '@slack/bolt';
import { decodeAction } from '../../bot/shared/card.ts';
import type { Said } from '../answers/said.ts';
import { decodeAction } from '../../bot/shared/card-action.ts';
import { fieldsOf, textOf } from '../api/payload.ts';
import type { ShownMessage } from '../render/shown-message.ts';

/**
 * A press of a button of ours as an invocation; undefined for anything else.
 *
 * Takes the payload as it came and believes none of it. A repeat of a press has its time and its person again, two presses
 * never do. Sources: Slack docs, "block_actions payload"; `container.thread_ts`, which no page names: slack-go/slack pull
 * request 888.
 */
export function parseButtonPress(payload: unknown): UserInput | undefined {
  const { type, actions, user, channel, container, message, response_url } = fieldsOf(payload);
  const action = fieldsOf(Array.isArray(actions) ? actions[0] : undefined);
  const { id, name, username } = fieldsOf(user);
  const shown = { ...fieldsOf(container), ...fieldsOf(message) };
  const place = textOf(fieldsOf(channel).id) ?? textOf(shown.channel_id);
  const person = textOf(id);
  const atTs = tsOf(action.action_ts);
  const request = decodeAction(textOf(action.value) ?? '');
  if (type !== 'block_actions' || action.type !== 'button' || !request) return undefined;
  if (place === undefined || person === undefined || atTs === undefined) return undefined;

  const ts = tsOf(shown.ts) ?? tsOf(shown.message_ts);
  // What only one person sees has nothing under it.
  const thread = tsOf(shown.thread_ts) ?? (shown.is_ephemeral === true ? undefined : ts);
  // A message with replies is in a thread by its own name, and still stands in the channel.
  const inThread = thread !== undefined && thread !== ts;
  const responseUrl = textOf(response_url);
  return {
    invocation: {
      id: `slack:${place}:${person}:${atTs}`,
      request,
      place: { platform: 'slack', channel: place },
      ...(thread === undefined ? {} : { thread }),
      person: { id: person, name: textOf(name) ?? textOf(username) ?? person },
      pressed: ts ?? '',
    },
    channel: place,
    addressed: true,
    inThread,
    hidden: true,
    ...(message !== undefined && ts !== undefined && { pressed: shownOf(ts, shown) }),
    // What is sent to this address stands in the channel, not in the thread.
    ...(inThread || responseUrl === undefined ? {} : { responseUrl }),
  };
}

/** What a message shows; Slack checks it again when it is sent back. */
function shownOf(ts: string, { text, blocks }: Record<string, unknown>): ShownMessage {
  return {
    ts,
    ...(typeof text === 'string' && { text }),
    ...(Array.isArray(blocks) && { blocks: blocks.filter(isBlock) }),
  };
}

const isBlock = (block: unknown): block is types.KnownBlock =>
  textOf(fieldsOf(block).type) !== undefined;

/** A time as Slack writes it, which is the name of a message. */
const tsOf = (value: unknown) =>
  typeof value === 'string' && /^\d{1,12}\.\d{1,9}$/.test(value) ? value : undefined;
