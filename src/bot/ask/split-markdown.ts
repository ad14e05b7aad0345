/** An open code block. */
export interface Fence {
  /** The first line with its line break; repeated if the block continues in the next piece. */
  opening: string;
  closing: string;
  /** Matches the closing line at the start of a text. */
  closedBy: RegExp;
}

/** A position in the rest, with the code block that is open there. */
interface Cut {
  at: number;
  fence: Fence | undefined;
}

/** The rest fits, or is to be cut before `room`, best at one of these places. */
type Scan =
  | { fits: true; end: Cut; closed: boolean }
  | { fits: false; room: number; paragraph?: Cut; line?: Cut; lineStart: number; fence?: Fence };

/** Smallest sensible piece: room for a repeated fence line and some text. */
const MIN_LIMIT = 100;

/**
 * The first line of a code block. The lengths are bounded so that repeating the line never fills a piece; a longer line
 * is text like any other.
 * Source: CommonMark, "Fenced code blocks"; deeper indentation is taken too, since models indent blocks inside lists.
 */
const OPENING = /^([ \t]{0,12})(?:(`{3,16})([^`\n]{0,32})|(~{3,16})([^\n]{0,32}))$/;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * Cuts Markdown into pieces of at most `limit` UTF-16 units (at least 100): between paragraphs, else lines, else
 * sentences, else words, else graphemes. A code block that is cut is closed and opened again with its info string.
 *
 * Joined, the pieces are the text, apart from fence lines and white space at the cuts. Appending to the text changes no
 * piece but the last, so messages already shown stay as they are while an answer grows. Takes linear time.
 */
export function splitMarkdown(text: string, limit: number): string[] {
  return [...piecesOf(text, limit)].map(({ piece }) => piece);
}

/** The text after the first `count` pieces, with the first line of a code block that is open there. */
export function restOfMarkdown(text: string, limit: number, count: number): string {
  let shown = 0;
  for (const { rest } of piecesOf(text, limit)) {
    shown += 1;
    if (shown === count) return rest();
  }
  return '';
}

function* piecesOf(text: string, limit: number): Generator<{ piece: string; rest(): string }> {
  if (limit < MIN_LIMIT) throw new RangeError(`A piece needs room for ${MIN_LIMIT} characters.`);
  let position = skipSpace(text, 0);
  let fence: Fence | undefined;
  while (position < text.length) {
    // A decision depends on at most one more character than fits, so that later text can't change it.
    const near = text.slice(position, position + limit + 1);
    const scan = scanRest(near, limit, fence);
    const cut = scan.fits ? scan.end : chooseCut(near, scan);
    const closing = scan.fits && scan.closed ? undefined : cut.fence;
    const piece = writePiece(near.slice(0, cut.at), fence, closing);
    const next = scan.fits
      ? { position: text.length, fence: undefined }
      : stepOver(text, position + cut.at, cut.fence);
    const rest = () => {
      const left = text.slice(next.position);
      return left === '' ? '' : (next.fence?.opening ?? '') + left;
    };
    if (piece !== '') yield { piece, rest };
    ({ position, fence } = next);
  }
}

function writePiece(body: string, opened: Fence | undefined, closing: Fence | undefined): string {
  const start = opened?.opening ?? '';
  if (!closing) return (start + body).trimEnd();
  const lineBreak = body === '' || body.endsWith('\n') ? '' : '\n';
  return start + body + lineBreak + closing.closing;
}

/** Reads the rest line by line until it ends or is too long. */
function scanRest(rest: string, limit: number, opened: Fence | undefined): Scan {
  const head = opened?.opening.length ?? 0;
  const roomWith = (fence: Fence | undefined) =>
    limit - head - (fence ? 1 + fence.closing.length : 0);
  let fence = opened;
  let paragraph: Cut | undefined;
  let line: Cut | undefined;
  let lineStart = 0;
  const full = (room: number): Scan => ({ fits: false, room, lineStart, paragraph, line, fence });
  for (;;) {
    const found = rest.indexOf('\n', lineStart);
    const lineEnd = found === -1 ? rest.length : found;
    if (lineEnd > roomWith(fence)) return full(roomWith(fence));
    const words = rest.slice(lineStart, lineEnd);
    const closes = fence?.closedBy.test(words) ?? false;
    if (found === -1) return { fits: true, end: { at: lineEnd, fence }, closed: closes };
    const next = closes ? undefined : (fence ?? openedBy(words));
    const opens = next !== undefined && fence === undefined;
    // Cutting right behind the first line of a code block would leave an empty block.
    if (opens) paragraph = line;
    if (!opens && lineEnd > 0) {
      line = { at: lineEnd, fence: next };
      if (closes || (!fence && words.trim() === '')) paragraph = line;
    }
    if (lineEnd + 1 > roomWith(next)) return full(lineEnd);
    fence = next;
    lineStart = lineEnd + 1;
  }
}

/** The code block that is open after a line; `fence` is the one that is open before it. */
export function fenceAfter(line: string, fence: Fence | undefined): Fence | undefined {
  if (fence) return fence.closedBy.test(line) ? undefined : fence;
  return openedBy(line);
}

function openedBy(line: string): Fence | undefined {
  const match = OPENING.exec(line.trimEnd());
  const marker = match?.[2] ?? match?.[4];
  if (!match || !marker) return undefined;
  return {
    opening: `${match[0]}\n`,
    closing: `${match[1]}${marker}`,
    closedBy: new RegExp(`^[ \\t]{0,12}${marker[0]}{${marker.length},64}[ \\t\\r]{0,12}(?=\\n|$)`),
  };
}

/** The best place that leaves the piece at least half full, else the last place of any kind, else inside a word. */
function chooseCut(rest: string, scan: Scan & { fits: false }): Cut {
  const { room, paragraph, line, lineStart, fence } = scan;
  const half = room / 2;
  if (paragraph && paragraph.at >= half) return paragraph;
  if (line && line.at >= half) return line;
  const sentence = fence ? 0 : lastSpace(rest, Math.max(lineStart, half), room, endsSentence);
  if (sentence > 0) return { at: sentence, fence };
  const word = lastSpace(rest, lineStart, room, () => true);
  if (word > lineStart) return { at: word, fence };
  return line ?? { at: lastGrapheme(rest, room), fence };
}

/** The last white space in `(from, room)` for which `accepts` is true; 0 if there is none. */
function lastSpace(
  rest: string,
  from: number,
  room: number,
  accepts: (rest: string, at: number) => boolean,
): number {
  for (let at = room - 1; at > from; at -= 1) {
    if (isSpace(rest, at) && isCertain(rest, at + 1) && accepts(rest, at)) return at;
  }
  return 0;
}

const isSpace = (text: string, at: number) => /\s/.test(text.charAt(at));

/** Characters that join the one before them into one grapheme, so that a space before them is no border. */
const JOINS = /^(?:\p{M}|\p{Emoji_Modifier}|[\u200c\u{e0020}-\u{e007f}]|\u200d|\uff9e|\uff9f)/u;

/** True if a new grapheme certainly begins here: half a surrogate pair may become anything. */
const isCertain = (text: string, at: number) =>
  !JOINS.test(text.charAt(at)) && !/[\ud800-\udfff]/.test(text.charAt(at));

const endsSentence = (text: string, at: number) =>
  /[.!?…:;。！？]["'”’)\]*_]?$/u.test(text.slice(Math.max(0, at - 2), at));

/** The last border between graphemes within `room`, or inside a longer grapheme, but never inside a surrogate pair. */
function lastGrapheme(rest: string, room: number): number {
  const isPairAt = (at: number) => /[\ud800-\udbff]/.test(rest.charAt(at));
  // The other half of this pair isn't visible yet.
  const last = isPairAt(room) ? room - 1 : room;
  const border = segmenter.segment(rest.slice(0, last + 1)).containing(last)?.index ?? 0;
  if (border > 0) return border;
  return isPairAt(room - 1) ? room - 1 : room;
}

/** The start of the next piece: after white space and a closing line that is already written. */
function stepOver(text: string, cut: number, fence: Fence | undefined) {
  if (!fence) return { position: skipSpace(text, cut), fence };
  const start = text.charAt(cut) === '\n' ? cut + 1 : cut;
  // Bounded by the longest line that `closedBy` accepts.
  const closing = start > cut ? fence.closedBy.exec(text.slice(start, start + 100)) : null;
  if (!closing) return { position: start, fence };
  return { position: skipSpace(text, start + closing[0].length), fence: undefined };
}

/** Skips blank lines, or else spaces; indentation is kept because it has a meaning in lists. */
function skipSpace(text: string, from: number): number {
  let position = from;
  let lineStart = from === 0 ? 0 : undefined;
  while (position < text.length && isSpace(text, position)) {
    position += 1;
    if (text.charAt(position - 1) === '\n') lineStart = position;
  }
  if (position === text.length) return position;
  if (lineStart !== undefined) return lineStart;
  const joined = position > from && JOINS.test(text.slice(position, position + 2));
  return joined ? position - 1 : position;
}
