import type { types } from '@slack/bolt';
import type { LiveView } from '../../bot/ask/live-answer.ts';
import { type CardAction, linkOf } from '../../bot/shared/card.ts';
import type { AnswerStep } from '../../bot/shared/invocation.ts';
import { isMask } from '../../bot/shared/masked-links.ts';
import { type Content, context, MAX_FALLBACK, oneLine, renderButtons, section } from './blocks.ts';
import { clip, clipEscaped, harmless, plain } from './text.ts';

/** An edit may hold 4,000 characters, and escaping makes a text longer. */
export const ANSWER_LIMIT = 3_500;

/** The first message in the thread of a slash command's question, which nobody else sees. */
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

/** Lines of a message that grows. */
const THINKING = 'Thinking…';
const WRITING = 'Writing…';

/** `LiveView.progress`, on one line and clipped, takes their place. */
const PROGRESS = /^Looking up .*…$/;

export const isWaitingLine = (line: string) =>
  line === THINKING || line === WRITING || PROGRESS.test(line);

/** Lengths of a step's name or result, and of the line of all steps. */
const MAX_STEP_WORDS = 200;
const MAX_STEPS = 2_000;

export const renderThinking = (actions?: CardAction[]) => renderNote(THINKING, actions);

/** A line of Askwatch's own that is not a card. */
export function renderNote(text: string, actions?: CardAction[]): Content {
  const blocks = [context(text), ...renderButtons(actions)];
  return { text: clipEscaped(text, MAX_FALLBACK), blocks };
}

/** Below the last message of an answer: look-ups, state or footer, and the buttons. */
export function renderEnd(view: Omit<LiveView, 'messages'>): types.KnownBlock[] {
  const { steps, progress, end, actions } = view;
  const lines = endLines(end, progress).map(context);
  return [...renderSteps(steps), ...lines, ...renderButtons(actions)];
}

/**
 * The look-ups as one line, without the ones that were cut off. It is a paragraph, because small print has links only in parsed
 * text, where `*` and `:` in a name can't be escaped.
 */
function renderSteps(steps: readonly AnswerStep[] = []): types.RichTextBlock[] {
  const over = steps.filter(({ state }) => state !== 'running');
  if (over.length === 0) return [];
  const elements: types.RichTextElement[] = [];
  let room = MAX_STEPS;
  for (const [index, step] of over.entries()) {
    const what = clip(oneLine(step.what), MAX_STEP_WORDS) || '…';
    const found = clip(oneLine(step.found ?? ''), MAX_STEP_WORDS);
    const url = pageOf(step);
    room -= what.length + found.length + (url ?? '').length;
    if (room < 0) {
      elements.push({ type: 'text', text: ` · and ${over.length - index} more` });
      break;
    }
    elements.push({ type: 'text', text: index === 0 ? 'Looked up ' : ' · ' });
    const isLink = url !== undefined && !isMask(what, url);
    elements.push(isLink ? { type: 'link', url, text: what } : { type: 'text', text: what });
    if (found !== '') elements.push({ type: 'text', text: ` (${found})` });
  }
  return [section(elements)];
}

const pageOf = ({ what, url }: AnswerStep) =>
  url === undefined ? undefined : linkOf({ link: { label: what, url } })?.url;

function endLines(end: LiveView['end'], progress = WRITING): string[] {
  const endings = end ? [end.note && `⚠️ ${end.note}`, end.footer] : [progress];
  return endings.filter((line): line is string => Boolean(line?.trim()));
}

/** An answer as messages, at least one. The last one shows the state and the buttons. */
export function renderAnswer({ messages, ...view }: LiveView): Content[] {
  const pieces = messages.length === 0 ? [''] : messages;
  return pieces.map((piece, index) => {
    const last = index === pieces.length - 1;
    const prose: types.KnownBlock[] =
      piece === '' ? [] : [{ type: 'markdown', text: harmless(piece) }];
    const under = last ? renderEnd(view) : [];
    const blocks = [...prose, ...under];
    const lines = last ? endLines(view.end) : [];
    return {
      text: clipEscaped(piece || lines.join('\n') || '…', MAX_FALLBACK),
      blocks: blocks.length === 0 ? [context('The answer is empty.')] : blocks,
    };
  });
}
