import { domainToASCII } from 'node:url';

/** A text in which no link hides its destination. */
export interface Unmasked {
  text: string;
  /** Characters that stay the same when the text grows. */
  settled: number;
}

/** Invisible characters, and ones that Markdown removes: emphasis, code, backslashes. */
const UNREAD =
  '(?:[\\\\*_~`\\p{M}\\p{Default_Ignorable_Code_Point}\\p{Cf}\\u2006\\u2008-\\u200a\\u202f]|[^\\P{Cc}\\n\\t])*';
const NUMBERED = '&#x?[0-9a-f]{1,8};';
/** Looks like a full stop. Source: Unicode "confusables.txt"; browsers read the ideographic one as a full stop. */
const DOT = `(?:[.\\u3002\\uff0e\\uff61\\u2024\\ufe52\\u0701\\u0702\\ua4f8\\ua60e\\u0660\\u06f0\\u00b7\\u2219\\u22c5\\u30fb\\uff65\\u2e33]|${NUMBERED}|&(?:period|middot|centerdot|sdot);)`;
const COLON = `(?:[:\\uff1a\\u2236\\ua789]|${NUMBERED}|&colon;)`;
const SLASH = `(?:[/\\uff0f\\u2044\\u2215\\u29f8\\u2571]|${NUMBERED}|&sol;)`;
const LETTERS = `(?:(?:\\p{L}|${NUMBERED})${UNREAD}){2,}`;

/** Reads like an address: a name with a dot and letters after it, `://`, four numbers. */
const ADDRESS_SIGN = new RegExp(
  `(?<=[^ \\t\\n\\r\\u00a0["(])${DOT}${UNREAD}(?<ending>${LETTERS})|${COLON}${UNREAD}${SLASH}${UNREAD}${SLASH}|(?<=\\d)(?:${DOT}\\d{1,3}){3}`,
  'giu',
);

/** File endings that aren't top-level domains, such as in `Node.js`. */
const FILE_ENDINGS = new Set(
  'js ts jsx tsx mjs cjs json yaml yml toml css html htm txt xml cpp java php sql csv log ini env lock png jpg jpeg svg gif pdf'.split(
    ' ',
  ),
);

/** Characters behind `]` that are searched for the destination. A longer link is taken apart. */
const LOOK_AHEAD = 2_100;
/** Longest link text that is compared with its destination. */
const MAX_COMPARED = 300;
/** Hosts per text that are written in ASCII, so that it doesn't grow much. Further ones lose other characters. */
const MAX_REWRITTEN = 10;
/** A longer line may be split into two messages, in the middle of a code span. */
const LONG_LINE = 900;

const INVISIBLE = '(?:[\\p{Default_Ignorable_Code_Point}\\p{Cf}]|[^\\P{Cc}\\n\\t])*';
const MARK = /\n[ \t\r]*\n|\n|`+|\\[\s\S]?|[[\]<>|]/g;
/** Starts or ends a code block, and ends everything before it. */
const FENCE = /^[\s>*+\d.)-]*(?:`{3,}[^`]*|~{3,}.*)$/;
const FOLLOWED_BY = new RegExp(`${INVISIBLE}([(:]?)`, 'uy');
/** Arguments of a call in a program. */
const NO_ADDRESS = /^\([\w$\s,-]*\)/;
/** The end of an address. */
const IS_OVER = /^\(\s*<?[^\s()<>]+(?:[\s()<]|>[\s\S])|^\(\s*[()>]/;
const DESTINATION = /^\(\s*<?(https?:\/\/[^\s()<>\\]+)>?[\s)]/i;
const HOST = /^\(\s*<?(?:[a-z][a-z\d+.-]*:)?\/\/([^\s/?#()<>\\]+)/i;
/** Allowed before a link reference definition on its line. */
const BEFORE_DEFINITION = /^[\s>*+\d.)-]*$/;

/**
 * Takes links apart whose text names another address, so that readers see both: `[https://bank.example](https://evil.example)`
 * gets a space. Definitions of reference links, which are invisible, become text. Markdown renderers differ in what is code; a
 * doubtful link counts as a link. Takes linear time. `ended` is false while the text grows.
 */
export function unmask(markdown: string, { ended = true }: { ended?: boolean } = {}): Unmasked {
  if (!markdown.includes(']')) return { text: markdown, settled: markdown.length };
  const signs = createSigns(markdown);
  const openers: number[] = [];
  /** First bracket of the paragraph. `inDoubt` means that code, escapes or tags hide which bracket closes it. */
  let first: number | undefined;
  let inDoubt = false;
  let code: { ticks: number; at: number } | undefined;
  let tag = false;
  let lineStart = 0;
  let rewritten = 0;
  let read = 0;
  let out = '';
  let settled: number | undefined;

  /** Puts a space after the bracket that closes at `at`. */
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

  /** The text after `at` isn't settled yet. */
  function hold(at: number) {
    settled ??= out.length + at + 1 - read;
  }

  for (const { 0: mark, index: at } of markdown.matchAll(MARK)) {
    if (tag && /[`[\]]/.test(mark)) inDoubt = true;
    if (mark.startsWith('\n')) {
      const isFence = FENCE.test(markdown.slice(lineStart, Math.min(at, lineStart + 100)));
      lineStart = at + mark.length;
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

/** `unmask` for a complete text. */
export const withoutMasks = (markdown: string): string => unmask(markdown).text;

/** True if the text of a link reads like another address than its destination. */
export function isMask(label: string, destination: string): boolean {
  return createSigns(label).isBetween(-1, label.length) && !isHonest(label, destination);
}

/** Finds signs of addresses, from left to right. */
function createSigns(text: string) {
  const found = text.matchAll(ADDRESS_SIGN);
  let next = found.next();
  let last = -2;
  return {
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

/** True if the destination begins with every address in the text of the link. */
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

/** An ASCII address without credentials. */
function addressOf(text: string): { host: string; path: string } | undefined {
  const found = /^(?:https?:\/\/)?(?:www\.)?([a-z\d.-]+(?::\d+)?)((?:[/?#].*)?)$/i.exec(text);
  return found?.[1] ? { host: found[1].toLowerCase(), path: found[2] ?? '' } : undefined;
}

/** Writes a host like a browser does, without look-alike letters. */
function inAscii(host: string, isShort: boolean): string {
  const [, user = '', name = '', port = ''] = /^(.*@)?(.*?)(:\d+)?$/.exec(host) ?? [];
  const ascii = isShort && isAscii(user) ? domainToASCII(name) : '';
  if (ascii !== '' && ascii.length <= 253) return user + ascii + port;
  return [...host].map((character) => (isAscii(character) ? character : '?')).join('');
}

const isAscii = (text: string) => !/[^ -~\n\t]/.test(text);
