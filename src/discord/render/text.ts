import { splitInstants } from '../../bot/shared/text-format.ts';

/**
 * Mentions: `@everyone`, `@here`, `<@…>` of users and roles, and links to channels, commands and pages in Discord. All pings
 * are off already; this also removes their look, so that no text can pretend to be one. Source: Discord docs, "Message
 * Formatting".
 */
const MENTION =
  /@(?=everyone|here)|<(?=@|#\d{17,20}>|\/[^<>\n]{1,100}:\d{17,20}>|id:[a-z-]{1,40}>)/g;

/** Makes the mentions of a text look like what they are, text. The length stays the same. */
export function withoutMentions(text: string): string {
  return text.replace(MENTION, (character) => (character === '@' ? '＠' : '‹'));
}

/** An address is one token for Discord; a backslash in it would be part of it. */
const ADDRESS = /(https?:\/\/[^\s<>]+)/;
const SPECIAL = /[\\*_~`|<>[\]()#]/g;
const LINE_START = /^([ \t]*)([-+]|\d+(?=[.)]))/gm;

/**
 * A plain text as Markdown that shows exactly that text: no formatting, link, mention, emoji or heading comes of it.
 * Source: Discord's Markdown lets every ASCII punctuation be escaped by a backslash.
 */
export function plain(text: string): string {
  return withoutMentions(text)
    .split(ADDRESS)
    .map((part, index) => {
      if (index % 2 === 1) return part;
      const escaped = part.replace(SPECIAL, '\\$&');
      return escaped.replace(LINE_START, (_whole, space: string, mark: string) =>
        /\d/.test(mark) ? `${space}${mark}\\` : `${space}\\${mark}`,
      );
    })
    .join('');
}

/** A moment in the reader's own time zone; `R` is how long ago. Source: Discord docs, "Timestamp Styles". */
export const timestamp = (atMs: number, style: 'f' | 'R' | 't' | 'T') =>
  `<t:${Math.floor(atMs / 1000)}:${style}>`;

/** A text with the moments that it names drawn by the reader's clock. */
export const withTimes = (text: string): string =>
  splitInstants(text)
    .map((part) => {
      if (typeof part === 'string') return part;
      if (part.hasDate) return timestamp(part.atMs, 'f');
      return timestamp(part.atMs, part.hasSeconds ? 'T' : 't');
    })
    .join('');

/** `plain`, with its moments drawn by the reader's clock. */
export const plainWithTimes = (text: string): string => withTimes(plain(text));

/** Code, which Discord shows as it is, also a block that is not closed yet. */
const CODE = /(```[\s\S]*?(?:```|$)|`[^`\n]*`)/;

/** Markdown with the moments that it names drawn by the reader's clock, but for those in code. */
export const markdownWithTimes = (markdown: string): string =>
  markdown
    .split(CODE)
    .map((part, index) => (index % 2 === 1 ? part : withTimes(part)))
    .join('');

/** `plain`, where an address may be no link either, such as in the text of one. */
export const plainUnlinked = (text: string): string =>
  withoutMentions(text).split('://').map(plain).join('\\://');

/** An address as the target of a link, without characters that would end or format it. */
export const linkTarget = (url: string): string =>
  url.replace(/[()<>\\`|*~@'"]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);

/** `plain`, or another way to show it, cut so that the result has at most `max` UTF-16 units. */
export function plainWithin(text: string, max: number, show = plain): string {
  let kept = within(text, max);
  let shown = show(kept);
  while (shown.length > max) {
    kept = within(kept, Math.floor((kept.length * max) / shown.length) - 1);
    shown = show(kept);
  }
  return shown;
}

/** A text cut to at most `max` UTF-16 units, with an ellipsis, and never inside a surrogate pair. */
export function within(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, Math.max(0, max - 1)).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** On one line, without white space at the ends. */
export const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim();

/** Longest question that is repeated in full above its answer. */
const MAX_QUESTION = 1_500;

/** Longest part of it that names what came with it. */
const MAX_FILES = 200;

/** How a question from a slash command, which others do not see, is shown to them, with the names of what came with it. */
export function questionLine(
  name: string,
  question: string,
  files: ReadonlyArray<{ name: string }> = [],
): string {
  const asked = plainWithin(oneLine(question), MAX_QUESTION);
  const named = files.map((file) => oneLine(file.name)).join(', ');
  const with_ = named === '' ? '' : ` (with ${plainWithin(named, MAX_FILES)})`;
  return `**${plainWithin(oneLine(name), 200)}** asked: ${asked}${with_}`;
}

/** A thread's name: the question on one line. Source: Discord docs, "Start Thread from Message": 1 to 100 characters. */
export function threadName(question: string): string {
  return within(oneLine(withoutMentions(question)), 100) || 'Question';
}
