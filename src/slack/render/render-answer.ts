import type { types } from '@slack/bolt';
import type { LiveView } from '../../bot/ask/live-answer.ts';
import type { CardAction } from '../../bot/shared/card.ts';
import { type Content, context, MAX_FALLBACK, oneLine, renderButtons, section } from './blocks.ts';
import { clip, clipEscaped, harmless, plain } from './text.ts';

/** Longest text of one message of an answer: an edit may hold 4,000, and escaping makes it longer. */
export const ANSWER_LIMIT = 3_500;

/** The message that opens the thread of a question from a slash command, whose own text nobody else sees. */
export function renderQuestion(name: string, question: string): Content {
  const asker = clip(oneLine(name), 80) || 'Someone';
  const text = clip(plain(question.trim()), 2_800) || '…';
  return {
    text: clipEscaped(`${asker} asks: ${text}`, MAX_FALLBACK),
    blocks: [
      section([
        { type: 'text', text: asker, style: { bold: true } },
        { type: 'text', text: ' asks' },
      ]),
      {
        type: 'rich_text',
        elements: [{ type: 'rich_text_quote', elements: [{ type: 'text', text }] }],
      },
    ],
  };
}

/** What a message says while more comes. */
const THINKING = 'Thinking…';
const WRITING = 'Writing…';
export const WAITING = [THINKING, WRITING];

/** What is shown of an answer before its first text. */
export const renderThinking = (actions?: CardAction[]) => renderNote(THINKING, actions);

/** A line of Askwatch's own that is not a card. */
export function renderNote(text: string, actions?: CardAction[]): Content {
  const blocks = [context(text), ...renderButtons(actions)];
  return { text: clipEscaped(text, MAX_FALLBACK), blocks };
}

/** What stands under the last message of an answer: whether it goes on, and the buttons. */
export function renderEnd({ end, actions }: Pick<LiveView, 'end' | 'actions'>): types.KnownBlock[] {
  return [...endLines(end).map(context), ...renderButtons(actions)];
}

function endLines(end: LiveView['end']): string[] {
  const endings = end ? [end.note && `⚠️ ${end.note}`, end.footer] : [WRITING];
  return endings.filter((line): line is string => Boolean(line?.trim()));
}

/** An answer as the messages that show it: at least one, the last of which says whether it goes on, and has the buttons. */
export function renderAnswer({ messages, end, actions }: LiveView): Content[] {
  const pieces = messages.length === 0 ? [''] : messages;
  return pieces.map((piece, index) => {
    const last = index === pieces.length - 1;
    const prose: types.KnownBlock[] =
      piece === '' ? [] : [{ type: 'markdown', text: harmless(piece) }];
    const under = last ? renderEnd({ end, actions }) : [];
    const blocks = [...prose, ...under];
    const lines = last ? endLines(end) : [];
    return {
      text: clipEscaped(piece || lines.join('\n') || '…', MAX_FALLBACK),
      blocks: blocks.length === 0 ? [context('The answer is empty.')] : blocks,
    };
  });
}
