import type { types } from '@slack/bolt';
import { type Card, type CardAction, encodeAction, ratingOfButton } from '../../bot/shared/card.ts';
import { clip, plain } from './text.ts';

/** A message: blocks, and a text for notifications and screen readers. */
export interface Content {
  text: string;
  blocks: types.KnownBlock[];
}

/** Longest `text` of a message: an edit may hold 4,000. Source: Slack docs, "chat.update", error `msg_too_long`. */
export const MAX_FALLBACK = 3_000;

export const oneLine = (text: string) => plain(text).replace(/\s+/g, ' ').trim();

/** A text that Slack doesn't parse, including `:smile:`. Source: Slack docs, "Text object". */
export const plainText = (text: string) => ({ type: 'plain_text' as const, text, emoji: false });

/** A paragraph that Slack doesn't parse. */
export function section(elements: types.RichTextElement[]): types.RichTextBlock {
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] };
}

/** A line of small print. */
export function context(text: string): types.ContextBlock {
  return { type: 'context', elements: [plainText(clip(oneLine(text), 2_000))] };
}

/** Source: Slack docs, "Button element", in UTF-16 units. */
const MAX_BUTTON = 75;

export const isButtons = (
  block: types.KnownBlock,
): block is types.ActionsBlock | types.ContextActionsBlock =>
  block.type === 'actions' || block.type === 'context_actions';

/**
 * Buttons as blocks, or no blocks. A button's value holds all that a press needs. The ratings of an answer are Slack's own
 * element, except in private messages, which Slack's docs don't mention. Sources: Slack docs, "Context actions block",
 * "Feedback buttons element"; without a `block_id` each edit gets a new one, as required.
 */
export function renderButtons(
  actions: readonly CardAction[] = [],
  link?: Card['link'],
): Array<types.ActionsBlock | types.ContextActionsBlock> {
  const [good, bad] = (['good', 'bad'] as const).map((as) =>
    actions.find((action) => ratingOfButton(action) === as && action.values.private === undefined),
  );
  if (!good || !bad) return renderActions(actions, link);
  const others = actions.filter((action) => action !== good && action !== bad);
  return [...renderActions(others, link), renderRating(good, bad)];
}

function renderRating(good: CardAction, bad: CardAction): types.ContextActionsBlock {
  const button = (action: CardAction, accessibility_label: string) => ({
    text: plainText(action.label),
    accessibility_label,
    value: encodeAction(action),
  });
  const element: types.FeedbackButtons = {
    type: 'feedback_buttons',
    action_id: 'askwatch-rating',
    positive_button: button(good, 'Good answer'),
    negative_button: button(bad, 'Bad answer'),
  };
  return { type: 'context_actions', elements: [element] };
}

function renderActions(actions: readonly CardAction[], link?: Card['link']): types.ActionsBlock[] {
  const buttons = [
    ...actions.map((action) => ({
      label: action.label,
      value: encodeAction(action),
      ...(action.style && { style: action.style }),
    })),
    ...(link ? [link] : []),
  ];
  if (buttons.length === 0) return [];
  const elements = buttons.map(
    ({ label, ...does }, index): types.Button => ({
      type: 'button',
      action_id: `askwatch-${index}`,
      text: plainText(clip(oneLine(label), MAX_BUTTON) || '…'),
      ...does,
    }),
  );
  return [{ type: 'actions', elements }];
}

/** Source: Slack docs, "Conversation object". */
const CHANNEL = /^[CG][A-Z0-9]{1,30}$/;

/** A channel's name, which Slack shows only to people who may see it. */
export function channelElement(channel: string): types.RichTextElement {
  const style = { bold: true };
  if (CHANNEL.test(channel)) return { type: 'channel', channel_id: channel, style };
  const text = channel.startsWith('D')
    ? 'Direct messages with Askwatch'
    : clip(oneLine(channel), 80);
  return { type: 'text', text: text || '…', style };
}

/** The fields of a Slack message that are shown again. */
export interface ShownMessage {
  ts: string;
  text?: string;
  blocks?: types.KnownBlock[];
}
