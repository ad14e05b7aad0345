import { domainToASCII } from 'node:url';

/** A text in which no link hides where it goes. */
export interface Unmasked {
  text: string;
  /** How much of it stays as it is, whatever is added to what was read. */
  settled: number;
}

/** What a reader does not see, or a Markdown reader takes away: nothing visible, marks of emphasis and code, backslashes. */
const UNREAD =
  '(?:[\\\\*_~`\\p{M}\\p{Default_Ignorable_Code_Point}\\p{Cf}\\u2006\\u2008-\\u200a\\u202f]|[^\\P{Cc}\\n\\t])*';
const NUMBERED = '&#x?[0-9a-f]{1,8};';
/** Whatever looks like a full stop. Source: Unicode "confusables.txt"; a browser reads the ideographic one as one, too. */
const DOT = `(?:[.\\u3002\\uff0e\\uff61\\u2024\\ufe52\\u0701\\u0702\\ua4f8\\ua60e\\u0660\\u06f0\\u00b7\\u2219\\u22c5\\u30fb\\uff65\\u2e33]|${NUMBERED}|&(?:period|middot|centerdot|sdot);)`;
const COLON = `(?:[:\\uff1a\\u2236\\ua789]|${NUMBERED}|&colon;)`;
const SLASH = `(?:[/\\uff0f\\u2044\\u2215\\u29f8\\u2571]|${NUMBERED}|&sol;)`;
const LETTERS = `(?:(?:\\p{L}|${NUMBERED})${UNREAD}){2,}`;

/** What makes a text read like an address: a name with a dot and letters after it, `://`, four numbers. */
const ADDRESS_SIGN = new RegExp(
  `(?<=[^ \\t\\n\\r\\u00a0["(])${DOT}${UNREAD}(?<ending>${LETTERS})|${COLON}${UNREAD}${SLASH}${UNREAD}${SLASH}|(?<=\\d)(?:${DOT}\\d{1,3}){3}`,
  'giu',
);

/** Endings of files that are no top-level domain, such as that of `Node.js`. */
const FILE_ENDINGS = new Set(
  'js ts jsx tsx mjs cjs json yaml yml toml css html htm txt xml cpp java php sql csv log ini env lock png jpg jpeg svg gif pdf'.split(
    ' ',
  ),
);

/** How far behind `]` it is looked for where a link goes. What is longer is taken apart. */
const LOOK_AHEAD = 2_100;
/** Longest link text that is compared with where it goes. */
const MAX_COMPARED = 300;
/** Hosts written in ASCII per text, so that it grows by little; further ones lose what is not ASCII. */
const MAX_REWRITTEN = 10;
/** A line so long may be cut into two messages, in the middle of a code span. */
const LONG_LINE = 900;

const INVISIBLE = '(?:[\\p{Default_Ignorable_Code_Point}\\p{Cf}]|[^\\P{Cc}\\n\\t])*';
const MARK = /\n[ \t\r]*\n|\n|`+|\\[\s\S]?|[[\]<>|]/g;
/** A line that begins or ends a block of code, and so ends all that comes before it. */
const FENCE = /^[\s>*+\d.)-]*(?:`{3,}[^`]*|~{3,}.*)$/;
const FOLLOWED_BY = new RegExp(`${INVISIBLE}([(:]?)`, 'uy');
/** What a call in a program holds: no address. */
const NO_ADDRESS = /^\([\w$\s,-]*\)/;
/** An address is over here. */
const IS_OVER = /^\(\s*<?[^\s()<>]+(?:[\s()<]|>[\s\S])|^\(\s*[()>]/;
const DESTINATION = /^\(\s*<?(https?:\/\/[^\s()<>\\]+)>?[\s)]/i;
const HOST = /^\(\s*<?(?:[a-z][a-z\d+.-]*:)?\/\/([^\s/?#()<>\\]+)/i;
/** What stands before a link reference definition on its line. */
const BEFORE_DEFINITION = /^[\s>*+\d.)-]*$/;

/**
 * Takes links apart that go by the name of another address, so that one sees where they lead beside what they say:
 * `[https://bank.example](https://evil.example)` gets a space. Definitions of reference links, which readers do not see,
 * become text. Readers of Markdown differ in what they take for code; where it is in doubt, it counts as a link. Takes linear
 * time. `ended` is false while more may be added.
 */
export function unmask(markdown: string, { ended = true }: { ended?: boolean } = {}): Unmasked {
  if (!markdown.includes(']')) return { text: markdown, settled: markdown.length };
  const signs = createSigns(markdown);
  const openers: number[] = [];
  /** Of the paragraph: its first bracket, and whether code, escapes and tags in it leave in doubt which bracket closes which. */
  let first: number | undefined;
  let inDoubt = false;
  let code: { ticks: number; at: number } | undefined;
  let tag = false;
  let lineStart = 0;
  let rewritten = 0;
  let read = 0;
  let out = '';
  let settled: number | undefined;

  /** A space after the bracket that closes at `at`. */
  function part(at: number) {
    out += `${markdown.slice(read, at + 1)} `;
    read = at + 1;
  }

  function closes(at: number, opener: number | undefined) {
    FOLLOWED_BY.lastIndex = at + 1;
    const follower = FOLLOWED_BY.exec(markdown)?.[1];
    const behind = FOLLOWED_BY.lastIndex;
    if (follower === '' && behind === markdown.length && !ended) hold(at);
    if (follower === ':' && opener !== undefined) {
      const before = markdown.slice(Math.max(lineStart, opener - 200), opener);
      if (opener < lineStart || BEFORE_DEFINITION.test(before)) part(at);
    }
    if (follower !== '(') return;
    const start = inDoubt || opener === undefined ? first : opener;
    if (start === undefined || !signs.isBetween(start, at)) return;
    const target = markdown.slice(behind - 1, behind - 1 + LOOK_AHEAD);
    const isOver = target.length === LOOK_AHEAD || IS_OVER.test(target) || NO_ADDRESS.test(target);
    if (!isOver && !ended) return hold(at);
    if (NO_ADDRESS.test(target)) return;
    const destination = DESTINATION.exec(target)?.[1];
    const label = markdown.slice(start + 1, at);
    if (!inDoubt && destination && label.length <= MAX_COMPARED && isHonest(label, destination)) {
      return;
    }
    part(at);
    const host = HOST.exec(target);
    if (!host?.[1] || isAscii(host[1])) return;
    rewritten += 1;
    const from = behind - 1 + host[0].length - host[1].length;
    out += markdown.slice(read, from) + inAscii(host[1], rewritten <= MAX_REWRITTEN);
    read = from + host[1].length;
  }

  /** What comes next decides what stands after `at`. */
  function hold(at: number) {
    settled ??= out.length + at + 1 - read;
  }

  for (const { 0: mark, index: at } of markdown.matchAll(MARK)) {
    if (tag && /[`[\]]/.test(mark)) inDoubt = true;
    if (mark.startsWith('\n')) {
      const isFence = FENCE.test(markdown.slice(lineStart, Math.min(at, lineStart + 100)));
      lineStart = at + mark.length;
      // The code that is open ends with this line, or goes on.
      if (mark.length > 1) code = undefined;
      if (mark.length > 1 || isFence) {
        first = undefined;
        inDoubt = tag = false;
      }
      inDoubt ||= code !== undefined;
    } else if (mark.startsWith('`')) {
      if (code === undefined) code = { ticks: mark.length, at };
      else if (code.ticks === mark.length) {
        const mayBeCut = at - lineStart > LONG_LINE && /\s/.test(markdown.slice(code.at, at));
        inDoubt ||= mayBeCut;
        code = undefined;
      }
    } else if (mark === '|') inDoubt ||= code !== undefined;
    else if (mark === '<') tag = /[a-z/!?]/i.test(markdown.charAt(at + 1));
    else if (mark === '>') tag = false;
    else if (mark === '[') {
      openers.push(at);
      first ??= at;
    } else if (mark === ']') {
      const opener = openers.pop();
      inDoubt ||= code !== undefined;
      closes(at, opener);
    } else if (/^\\[`[\]]$/.test(mark)) {
      inDoubt = true;
      first ??= at;
      if (mark === '\\]') closes(at + 1, undefined);
    }
  }
  const text = out + markdown.slice(read);
  return { text, settled: settled ?? text.length };
}

/** `unmask`, of a text to which nothing is added. */
export const withoutMasks = (markdown: string): string => unmask(markdown).text;

/** Whether a text that a link shows reads like another address than that which it leads to. */
export function isMask(label: string, destination: string): boolean {
  return createSigns(label).isBetween(-1, label.length) && !isHonest(label, destination);
}

/** Where `text` has the signs of an address; to be asked from left to right. */
function createSigns(text: string) {
  const found = text.matchAll(ADDRESS_SIGN);
  let next = found.next();
  let last = -2;
  return {
    /** Whether one stands between two places. */
    isBetween(from: number, to: number): boolean {
      while (!next.done && next.value.index < to) {
        if (!isFile(next.value.groups?.ending)) last = next.value.index;
        next = found.next();
      }
      return last > from;
    },
  };
}

const isFile = (ending: string | undefined) =>
  ending !== undefined && FILE_ENDINGS.has(ending.replace(/[^a-z]/gi, '').toLowerCase());

/** Whether every address in the text of a link is the beginning of that which it leads to. */
function isHonest(label: string, destination: string): boolean {
  if (!isAscii(label) || !isAscii(destination) || /[\\&]/.test(label)) return false;
  const goal = addressOf(destination);
  if (!goal) return destination.toLowerCase() === `mailto:${label.toLowerCase()}`;
  return label
    .replace(/[*`~]/g, '')
    .split(/\s+/)
    .filter((word) => createSigns(word).isBetween(-1, word.length))
    .every((word) => {
      const said = addressOf(word.replace(/^["'(]+|["'.,;:!?)]+$/g, ''));
      if (!said || said.host !== goal.host) return false;
      const path = said.path.replace(/\/$/, '');
      return goal.path.startsWith(path) && /^(?:[/?#]|$)/.test(goal.path.slice(path.length));
    });
}

/** An address in plain ASCII, with nothing in front of its host. */
function addressOf(text: string): { host: string; path: string } | undefined {
  const found = /^(?:https?:\/\/)?(?:www\.)?([a-z\d.-]+(?::\d+)?)((?:[/?#].*)?)$/i.exec(text);
  return found?.[1] ? { host: found[1].toLowerCase(), path: found[2] ?? '' } : undefined;
}

/** A host with letters that look like others, as a browser writes it. */
function inAscii(host: string, isShort: boolean): string {
  const [, user = '', name = '', port = ''] = /^(.*@)?(.*?)(:\d+)?$/.exec(host) ?? [];
  const ascii = isShort && isAscii(user) ? domainToASCII(name) : '';
  if (ascii !== '' && ascii.length <= 253) return user + ascii + port;
  return [...host].map((character) => (isAscii(character) ? character : '?')).join('');
}

const isAscii = (text: string) => !/[^ -~\n\t]/.test(text);
