import { isMask, unmask } from '../../bot/shared/masked-links.ts';

/** Characters with which data could hide or turn round what stands beside it: controls and changes of direction. */
const UNSEEN = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Data as it may stand in a field that Slack does not parse: no control characters, no changes of direction. */
export function plain(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, '');
}

/**
 * Data as it may stand in a field that Slack parses.
 * Source: Slack docs, "Formatting message text", section "Escaping text": these three characters and no other.
 */
export function escapeText(text: string): string {
  return plain(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** What stands for the three characters, in UTF-16 units. */
const ESCAPED_LENGTH: Record<string, number> = { '&': 5, '<': 4, '>': 4 };

/** The text in at most `max` UTF-16 units; what is cut off, between graphemes, is replaced by "…". */
export function clip(text: string, max: number): string {
  return text.length <= max ? text : cutAt(text.slice(0, max + 1), max - 1);
}

/** `escapeText` in at most `max` UTF-16 units, never cut inside an entity or a grapheme. */
export function clipEscaped(text: string, max: number): string {
  const read = plain(text);
  // Nothing that is written is shorter than what was read, so no more than this can be needed.
  const head = read.slice(0, max + 1);
  if (escapedWithin(head, max) === read.length) return escapeText(head);
  return escapeText(cutAt(head, escapedWithin(head, max - 1)));
}

/** The text before the grapheme of the unit at `at`. A walk through all before it would take a thousand times as long. */
function cutAt(text: string, at: number): string {
  const end = segmenter.segment(text).containing(at)?.index ?? 0;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** How many UTF-16 units from the start of a text are at most `max` when they are escaped. */
function escapedWithin(text: string, max: number): number {
  let written = 0;
  for (let read = 0; read < text.length; read += 1) {
    written += ESCAPED_LENGTH[text.charAt(read)] ?? 1;
    if (written > max) return read;
  }
  return text.length;
}

/** What Slack, or a Markdown reader before it, may skip or take away: nothing visible, and backslashes. */
const SKIPPED = '(?:[\\\\\\p{Default_Ignorable_Code_Point}\\p{Cf}]|[^\\P{Cc}\\n\\t])*';
const LESS_THAN = '(?:<|&lt;|&#0*60;|&#x0*3c;)';
const SIGN = '(?:[!@#]|&#0*(?:33|64|35);|&#x0*(?:21|40|23);|&(?:excl|commat|num);)';

/** The start of a mention: `<!`, `<@` or `<#`, however it is written. HTML's own `<!--`, `<!doctype` and `<![` are none. */
const MENTION = new RegExp(`${LESS_THAN}(${SKIPPED})(?=${SIGN})(?!!--|!doctype\\b|!\\[)`, 'giu');

/** A bare mention of many people, which Slack would resolve where names are linked. */
const EVERYONE = new RegExp(`@${SKIPPED}(?=(?:channel|here|everyone|group)\\b)`, 'giu');

/** A link as Slack's own markup writes it, and one whose text is not over yet. */
const PIPED = /<([^<>|\s]*)\|([^<>\n]*)>/g;
const PIPED_SO_FAR = /<[^<>|\s]*\|[^<>\n]*$/;

/**
 * A model's Markdown with every mention made harmless, so that it pings nobody, and with every link taken apart that goes by
 * the name of another address; other links stay. Takes the whole text so far, since a mention may be spread over pieces of a
 * stream.
 */
export const harmless = (markdown: string): string =>
  withoutMentions(unmask(unpipe(markdown)).text);

/**
 * The sign is written as an entity, which is Slack's own way, and parted from what follows by a zero-width space, in case
 * entities are read back before mentions are looked for.
 */
export function withoutMentions(markdown: string): string {
  return markdown.replace(MENTION, '&lt;\u200b').replace(EVERYONE, '@\u200b');
}

/** Of a growing text, what of it without masks stays as it is. */
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
 * What Slack made of a mention or a link, and of a user group that is the value of an input: there its id is asked for.
 * Slack offers groups to choose from after a space, which is left out.
 */
const TOKEN = /(\bmention=["“]?)\s{0,5}<(!subteam\^[^<>]*)>|<([^<>]*)>/gi;

/** The people, groups and channels that somebody chose, where their ids are asked for. */
const CHOSEN = /^(?:@[UW][^<>]*|#[CG][^<>]*|!subteam\^[^<>]*)$/;

/**
 * What a person typed, from the form in which Slack sends it: links as their address, mentions as names, and the three
 * entities as characters. A group stays as it is after `mention=`, and with `keepsChosen` all that was chosen does.
 * Source: Slack docs, "Formatting message text", section "Retrieving messages".
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
