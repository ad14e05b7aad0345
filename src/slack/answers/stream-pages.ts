import { type Fence, fenceAfter } from '../../bot/ask/split-markdown.ts';

/** How soon a page must end: at a good place, at the next line, or at the next word. */
export type Hurry = 'none' | 'line' | 'word';

export interface PagePart {
  text: string;
  full: boolean;
}

/**
 * Minimum lengths of a page in UTF-16 units, by the place of its end. Slack refused text after about 12,000. Source: CopilotKit
 * issue 6063.
 */
const MAY_END = { paragraph: 7_500, line: 9_000, word: 10_000, anywhere: 10_400 };

/** Characters read beyond a cut inside a word, so that no grapheme is cut. */
const LOOK_AHEAD = 50;

/** Longer than any line that ends a code block. */
const CLOSING_LINE = 100;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * Splits a growing text into pages of at most 10,500 UTF-16 units. A code block that is cut is closed and opened again. Takes
 * linear time.
 */
export function createStreamPages() {
  /** Positions in the text: the page's start, the end of what was returned, the end of what was read, the start of the line. */
  let [start, sent, read, lineStart] = [0, 0, 0, 0];
  let opening = '';
  let fence: Fence | undefined;
  /** The page ends here as soon as more text follows. */
  let cut: number | undefined;

  /** Reads to a place where the page may end, or to the end of what can be decided. */
  function findCut(text: string, { ended, hurry }: { ended: boolean; hurry: Hurry }) {
    while (cut === undefined && read < text.length) {
      const size = opening.length + read - start + (fence ? fence.closing.length + 1 : 0);
      if (size >= MAY_END.anywhere) {
        if (!ended && text.length < read + LOOK_AHEAD) return;
        read = graphemeEnd(text, read);
        cut = read;
        return;
      }
      const character = text.charAt(read);
      read += 1;
      if (character === '\n') {
        const line = text.slice(lineStart, read - 1);
        fence = fenceAfter(line, fence);
        lineStart = read;
        const isParagraph = !fence && line.trim() === '';
        const from = isParagraph ? MAY_END.paragraph : MAY_END.line;
        if (hurry !== 'none' || size >= from) cut = read;
      } else if (/\s/.test(character) && (hurry === 'word' || size >= MAY_END.word)) cut = read;
    }
  }

  /** The start of the next page; `undefined` until text follows. */
  function nextStart(text: string, at: number, ended: boolean) {
    let from = at;
    let open = fence;
    if (open) {
      const line = open.closedBy.exec(text.slice(at, at + CLOSING_LINE));
      const isSure = ended || text.length > at + CLOSING_LINE || text.indexOf('\n', at) >= 0;
      if (!isSure) return undefined;
      if (line && lineStart === at) {
        from += line[0].length;
        open = undefined;
      }
    }
    const following = text.slice(from);
    if (following.trim() === '') return undefined;
    // Blank lines, not the spaces before the first word: they mean something in lists.
    const blank = open ? 0 : (/^(?:[^\S\n]*\n)+/.exec(following)?.[0].length ?? 0);
    return { from: from + blank, open };
  }

  /** The line that closes a code block which is open at the end of a body. */
  function closingAfter(body: string, open: Fence | undefined): string {
    if (!open) return '';
    return `${body.endsWith('\n') ? '' : '\n'}${open.closing}`;
  }

  function takeRest(text: string, head: string, ended: boolean): PagePart {
    const body = text.slice(sent, ended ? text.length : (cut ?? read));
    // A page is not begun with nothing.
    if (sent === start && body.trim() === '') return { text: '', full: false };
    sent += body.length;
    const open = ended ? fenceAfter(text.slice(lineStart), fence) : undefined;
    return { text: head + body + closingAfter(text, open), full: false };
  }

  return {
    /** Returns the new part of `text` up to the end of the current page. A page ends only if more than white space follows. */
    take(text: string, options: { ended: boolean; hurry: Hurry }) {
      findCut(text, options);
      const head = sent === start ? opening : '';
      const next = cut === undefined ? undefined : nextStart(text, cut, options.ended);
      if (cut === undefined || !next) return takeRest(text, head, options.ended);
      const body = text.slice(sent, cut);
      const closing = closingAfter(text.slice(0, cut), fence);
      start = sent = read = lineStart = next.from;
      fence = next.open;
      opening = fence?.opening ?? '';
      cut = undefined;
      return { text: head + body + closing, full: true };
    },
    /** The current page's start in the text, and the first line of a code block that was cut there. */
    page: () => ({ start, opening }),
  };
}

/** The end of the grapheme around `at`; never inside a surrogate pair, even if the grapheme is very long. */
function graphemeEnd(text: string, at: number): number {
  const from = Math.max(0, at - LOOK_AHEAD);
  const around = text.slice(from, at + LOOK_AHEAD);
  const found = segmenter.segment(around).containing(at - from);
  if (!found || found.index === at - from) return at;
  const end = from + found.index + found.segment.length;
  const isInPair =
    /[\ud800-\udbff]/.test(text.charAt(end - 1)) && /[\udc00-\udfff]/.test(text.charAt(end));
  return isInPair ? end - 1 : end;
}
