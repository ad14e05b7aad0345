import type { GrowingAnswer } from '../../bot/ask/live-answer.ts';
import { restOfMarkdown, splitMarkdown } from '../../bot/ask/split-markdown.ts';
import { withoutMasks } from '../../bot/shared/masked-links.ts';
import { renderButtons } from '../render/render.ts';
import { plain, withoutMentions } from '../render/text.ts';
import type { AnswerMessage } from './answer-target.ts';

/** Longest message. Source: Discord docs, "Create Message". */
const MAX_MESSAGE = 2_000;

/** Longest piece of an answer; what is left is for the footer. */
const MAX_PIECE = 1_900;

/** Pieces of an answer that are shown as messages; what is longer nobody reads in a chat. */
const MAX_PIECES = 8;

/** The file that holds the rest. */
const FILE_NAME = 'answer.md';

/**
 * The messages of an answer as it is now, the rest of a long answer as a file under the last one; buttons are there, too.
 * `note` stands in for the answer's own, `unattached` says why there can be no file. Pure.
 */
export function messagesOf(
  view: GrowingAnswer,
  { note, unattached }: { note?: string | undefined; unattached?: string | undefined } = {},
): AnswerMessage[] {
  const text = withoutMasks(view.text);
  const rest = view.end ? restOfMarkdown(text, MAX_PIECE, MAX_PIECES) : '';
  const notes = [restNote(rest, unattached), note ?? view.end?.note];
  const lines = view.end
    ? [
        ...notes.flatMap((one) => (one ? [`*${plain(one)}*`] : [])),
        ...(view.end.footer ? [`-# ${plain(view.end.footer)}`] : []),
      ]
    : [];
  const pieces = splitMarkdown(text, MAX_PIECE).slice(0, MAX_PIECES).map(withoutMentions);
  const contents = withLines(pieces, lines.join('\n').slice(0, MAX_MESSAGE));
  return contents.map((content, index) => {
    if (index < contents.length - 1) return { content, components: [] };
    const components = renderButtons(view.actions);
    const hasFile = rest !== '' && unattached === undefined;
    return { content, components, ...(hasFile && { file: { name: FILE_NAME, text: rest } }) };
  });
}

function restNote(rest: string, unattached: string | undefined): string | undefined {
  if (rest === '') return undefined;
  const size = `The rest, ${rest.length.toLocaleString('en')} characters,`;
  return unattached === undefined
    ? `${size} is in the file ${FILE_NAME}.`
    : `${size} could not be attached. ${unattached}`;
}

/** What comes after the text ends the last message, or stands alone where it does not fit. */
function withLines(contents: string[], lines: string): string[] {
  if (lines === '') return contents;
  const last = contents.at(-1);
  if (last === undefined || last.length + 1 + lines.length > MAX_MESSAGE) {
    return [...contents, lines];
  }
  return [...contents.slice(0, -1), `${last}\n${lines}`];
}
