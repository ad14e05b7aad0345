import type { GrowingAnswer } from '../../bot/ask/live-answer.ts';
import { restOfMarkdown, splitMarkdown } from '../../bot/ask/split-markdown.ts';
import { linkOf } from '../../bot/shared/card.ts';
import type { AnswerDocument, AnswerStep } from '../../bot/shared/invocation.ts';
import { isMask, withoutMasks } from '../../bot/shared/masked-links.ts';
import { renderButtons } from '../render/render.ts';
import {
  linkTarget,
  markdownWithTimes,
  oneLine,
  plain,
  plainUnlinked,
  plainWithin,
  withoutMentions,
} from '../render/text.ts';
import type { AnswerMessage } from './answer-target.ts';

/** Source: Discord docs, "Create Message". */
const MAX_MESSAGE = 2_000;

/** The rest is for the footer. */
const MAX_PIECE = 1_900;

/** Longer answers continue in a file. */
const MAX_PIECES = 8;

/** A longest piece leaves this much room, so a look-up needs no message of its own. */
const MAX_PROGRESS = MAX_MESSAGE - MAX_PIECE - '\n-# '.length;
const MAX_STEPS = 500;
const SEPARATOR = ' · ';

/** Lengths of a step's name or result, and of its address: a step always fits into the line. */
const MAX_STEP_TEXT = 150;
const MAX_STEP_URL = 180;
const FILE_NAME = 'answer.md';

/**
 * The messages of an answer as it is now, the rest of a long answer and its document as files under the last one; buttons are
 * there, too. `note` stands in for the answer's own, `unattached` says why there can be no files. Pure.
 */
export function messagesOf(
  view: GrowingAnswer,
  { note, unattached }: { note?: string; unattached?: string } = {},
): AnswerMessage[] {
  const text = markdownWithTimes(withoutMasks(view.text));
  const rest = view.end ? restOfMarkdown(text, MAX_PIECE, MAX_PIECES) : '';
  const { document } = view;
  const notes = [
    restNote(rest, unattached),
    documentNote(document, unattached),
    note ?? view.end?.note,
  ];
  const lines = [
    ...(view.progress === undefined ? [] : [progressLine(view.progress)]),
    ...(view.end ? notes : []).flatMap((one) => (one ? [`*${plain(one)}*`] : [])),
    ...stepsLine(view.steps ?? []),
    ...(view.end?.footer ? [`-# ${plain(view.end.footer)}`] : []),
  ];
  const pieces = splitMarkdown(text, MAX_PIECE).slice(0, MAX_PIECES).map(withoutMentions);
  const contents = withLines(pieces, lines.join('\n').slice(0, MAX_MESSAGE));
  return contents.map((content, index) => {
    if (index < contents.length - 1) return { content, components: [] };
    const components = renderButtons(view.actions);
    const files = [
      ...(rest === '' ? [] : [{ name: FILE_NAME, text: rest }]),
      ...(document ? [{ name: document.name, text: document.text }] : []),
    ];
    const hasFiles = files.length > 0 && unattached === undefined;
    return { content, components, ...(hasFiles && { files }) };
  });
}

const progressLine = (words: string) =>
  `-# ${plainWithin(oneLine(words), MAX_PROGRESS, plainUnlinked)}`;

export const withoutProgress = (content: string): string =>
  content.replace(/(^|\n)-# Looking up [^\n]*$/, '');

/** Finished look-ups in one line; the ones that don't fit are counted. */
function stepsLine(steps: readonly AnswerStep[]): string[] {
  const over = steps.filter(({ state }) => state !== 'running').map(stepText);
  if (over.length === 0) return [];
  let length = 0;
  const fitting = over.filter((step) => {
    length += step.length + SEPARATOR.length;
    return length <= MAX_STEPS;
  });
  const missing = over.length - fitting.length;
  const more = missing > 0 ? ` and ${missing} more` : '';
  return [`-# Looked up ${fitting.join(SEPARATOR)}${more}`];
}

/** `stepInWords`, with a link if there is a page. */
function stepText({ what, found, url }: AnswerStep): string {
  const shown = (text: string) => plainWithin(oneLine(text), MAX_STEP_TEXT, plainUnlinked);
  const page = pageOf(what, url);
  const name = page === undefined ? shown(what) : `[${shown(what)}](<${page}>)`;
  return found === undefined ? name : `${name} (${shown(found)})`;
}

/** The page of a step, escaped for a link; `undefined` if the link's text reads like another address. */
function pageOf(label: string, url = ''): string | undefined {
  const page = linkOf({ link: { label, url } })?.url;
  if (page === undefined || isMask(label, page) || new URL(page).username !== '') return undefined;
  const safe = linkTarget(page);
  return safe.length <= MAX_STEP_URL ? safe : undefined;
}

function restNote(rest: string, unattached: string | undefined): string | undefined {
  if (rest === '') return undefined;
  const size = `The rest, ${rest.length.toLocaleString('en')} characters,`;
  return unattached === undefined
    ? `${size} is in the file ${FILE_NAME}.`
    : `${size} could not be attached. ${unattached}`;
}

/** People see an attached file, so only a missing one needs a sentence. */
const documentNote = (document: AnswerDocument | undefined, unattached: string | undefined) =>
  document && unattached !== undefined
    ? `The file ${document.name} could not be attached. ${unattached}`
    : undefined;

function withLines(contents: string[], lines: string): string[] {
  if (lines === '') return contents;
  const last = contents.at(-1);
  if (last === undefined || last.length + 1 + lines.length > MAX_MESSAGE) {
    return [...contents, lines];
  }
  return [...contents.slice(0, -1), `${last}\n${lines}`];
}
