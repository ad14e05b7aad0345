import { isMask, unmask } from '../../bot/shared/masked-links.ts';

/** Characters that could hide or reverse nearby text: controls and changes of direction. */
const UNSEEN = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Text for a field that Slack doesn't parse. */
export function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, '');
}

/**
 * Text for a field that Slack parses. Source: Slack docs, "Formatting message text", section "Escaping text": these three
 * characters only.
 */
export function escapeText(text: string): string {
  return plain(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const ESCAPED_LENGTH: Record<string, number> = { '&': 5, '<': 4, '>': 4 };

/** Cuts between graphemes to at most `max` UTF-16 units, with "…" at the end. */
export function clip(text: string, max: number): string {
  return text.length <= max ? text : cutAt(text.slice(0, max + 1), max - 1);
}

/** Escapes within at most `max` UTF-16 units, and never cuts inside an entity or a grapheme. */
export function clipEscaped(text: string, max: number): string {
  const read = plain(text);
  // Escaped text is never shorter, so nothing beyond this is needed.
  const head = read.slice(0, max + 1);
  if (escapedWithin(head, max) === read.length) return escapeText(head);
  return escapeText(cutAt(head, escapedWithin(head, max - 1)));
}

/** Cuts before the grapheme at `at`. Walking through all graphemes before it takes a thousand times as long. */
function cutAt(text: string, at: number): string {
  const end = segmenter.segment(text).containing(at)?.index ?? 0;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** The number of UTF-16 units whose escaped form fits into `max`. */
function escapedWithin(text: string, max: number): number {
  let written = 0;
  for (let read = 0; read < text.length; read += 1) {
    written += ESCAPED_LENGTH[text.charAt(read)] ?? 1;
    if (written > max) return read;
  }
  return text.length;
}

/** Characters that Slack or a Markdown reader may skip: invisible ones and backslashes. */
const SKIPPED = '(?:[\\\\\\p{Default_Ignorable_Code_Point}\\p{Cf}]|[^\\P{Cc}\\n\\t])*';
const LESS_THAN = '(?:<|&lt;|&#0*60;|&#x0*3c;)';
const SIGN = '(?:[!@#]|&#0*(?:33|64|35);|&#x0*(?:21|40|23);|&(?:excl|commat|num);)';

/** The start of a mention: `<!`, `<@` or `<#`, however it is written. HTML's `<!--`, `<!doctype` and `<![` don't count. */
const MENTION = new RegExp(`${LESS_THAN}(${SKIPPED})(?=${SIGN})(?!!--|!doctype\\b|!\\[)`, 'giu');

/** A mention of many people without brackets, which Slack resolves if names are linked. */
const EVERYONE = new RegExp(`@${SKIPPED}(?=(?:channel|here|everyone|group)\\b)`, 'giu');

/** A link in Slack's markup, and one that isn't complete yet. */
const PIPED = /<([^<>|\s]*)\|([^<>\n]*)>/g;
const PIPED_SO_FAR = /<[^<>|\s]*\|[^<>\n]*$/;

/**
 * A model's Markdown without working mentions, and without links whose text names another address. Takes the whole text so far,
 * since a mention may be split over parts of a stream.
 */
export const harmless = (markdown: string): string =>
  withoutMentions(unmask(unpipe(markdown)).text);

/**
 * Writes the sign as an entity, which is Slack's own way, and adds a zero-width space in case entities are decoded before
 * mentions are searched.
 */
export function withoutMentions(markdown: string): string {
  return markdown.replace(MENTION, '&lt;\u200b').replace(EVERYONE, '@\u200b');
}

/** The part of a growing text that stays the same, without masked links. */
export function unmaskSoFar(markdown: string): string {
  const decided = markdown.slice(0, PIPED_SO_FAR.exec(markdown)?.index);
  const { text, settled } = unmask(unpipe(decided), { ended: false });
  return text.slice(0, settled);
}

function unpipe(markdown: string): string {
  return markdown.replace(PIPED, (link, address: string, label: string) =>
    isMask(label, address) ? `<${address}> (${label})` : link,
  );
}

/**
 * Slack's form of a mention or link, and of a user group as an input's value, which needs its id. Slack suggests groups only
 * after a space, which is removed.
 */
const TOKEN = /(\bmention=["“]?)\s{0,5}<(!subteam\^[^<>]*)>|<([^<>]*)>/gi;

/** People, groups and channels whose ids a command needs. */
const CHOSEN = /^(?:@[UW][^<>]*|#[CG][^<>]*|!subteam\^[^<>]*)$/;

/**
 * The text as the person typed it: links as addresses, mentions as names, and the three entities as characters. A group stays
 * after `mention=`; with `keepsChosen` everything chosen stays. Source: Slack docs, "Formatting message text", section
 * "Retrieving messages".
 */
export function decodeText(
  text: string,
  nameOf: (userId: string) => string | undefined,
  { keepsChosen = false } = {},
): string {
  return text
    .replace(TOKEN, (token: string, input?: string, group?: string, content = '') => {
      if (input !== undefined) return `${input}<${group}>`;
      return keepsChosen && CHOSEN.test(content) ? token : decodeToken(content, nameOf);
    })
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

function decodeToken(content: string, nameOf: (userId: string) => string | undefined): string {
  const bar = content.indexOf('|');
  const target = bar < 0 ? content : content.slice(0, bar);
  const label = bar < 0 ? '' : content.slice(bar + 1);
  const rest = target.slice(1);
  if (target.startsWith('@')) return `@${nameOf(rest) ?? (label || rest)}`;
  if (target.startsWith('#')) return `#${label || rest}`;
  if (target.startsWith('!')) return decodeCommand(rest, label);
  if (target.startsWith('mailto:') || target.startsWith('tel:')) return label || target;
  return isTypedBare(target, label) ? label : target;
}

/** Slack links a bare `example.com` as `<http://example.com|example.com>`. */
const isTypedBare = (target: string, label: string) =>
  label !== '' && target.replace(/\/$/, '') === `http://${label.replace(/\/$/, '')}`;

/** `<!here>`, `<!subteam^S1|@team>`, `<!date^0^{date}|then>`. */
function decodeCommand(command: string, label: string): string {
  const name = command.split('^')[0] ?? '';
  if (name === 'date') return label;
  if (name === 'subteam') return label || '@group';
  return `@${name}`;
}
