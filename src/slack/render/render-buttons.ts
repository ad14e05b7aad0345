import type { types } from '@slack/bolt';
import type { Card } from '../../bot/shared/card.ts';
import { encodeAction, linkOf } from '../../bot/shared/card.ts';
import { oneLine, plainText } from './blocks.ts';
import { clip } from './text.ts';

/** Source: Slack docs, "Button element", in UTF-16 units. */
const MAX_LABEL = 75;

/** Buttons as one block, or none; each has all that a press needs to be known. Their ids only have to differ in a message. */
export function renderButtons(shown: Pick<Card, 'actions' | 'link'>): types.ActionsBlock[] {
  const link = linkOf(shown);
  const buttons = [
    ...(shown.actions ?? []).map((action) => ({
      label: action.label,
      value: encodeAction(action),
    })),
    ...(link ? [link] : []),
  ];
  if (buttons.length === 0) return [];
  const elements = buttons.map(
    ({ label, ...does }, index): types.Button => ({
      type: 'button',
      action_id: `askwatch-${index}`,
      text: plainText(clip(oneLine(label), MAX_LABEL) || '…'),
      ...does,
    }),
  );
  return [{ type: 'actions', elements }];
}
