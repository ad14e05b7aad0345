import { followAnswer, type LiveView } from '../../../src/bot/ask/live-answer.ts';
import { splitMarkdown } from '../../../src/bot/ask/split-markdown.ts';
import type { AnswerPart } from '../../../src/bot/shared/invocation.ts';

type Options = Omit<Parameters<typeof followAnswer>[1], 'show' | 'gone'> & {
  limit: number;
  gone?: AbortSignal;
  show(view: LiveView): Promise<void>;
};

/** Follows an answer as a platform does that shows it in messages of a bounded length. */
export const showLive = (
  parts: AsyncIterable<AnswerPart>,
  { limit, show, gone = new AbortController().signal, ...more }: Options,
): Promise<void> =>
  followAnswer(parts, {
    ...more,
    gone,
    show: ({ text, ended: _, ...view }) => show({ messages: splitMarkdown(text, limit), ...view }),
  });
