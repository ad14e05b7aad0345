import type { Token } from 'markdown-it';
import MarkdownIt from 'markdown-it';
import { splitInstants } from '../../shared/from-bot.ts';
import type { Attributes, MarkdownJob, MarkdownResult, Piece } from './blocks.ts';
import { mathAsCode } from './math.ts';
import { plainPieces } from './plain-text.ts';

/**
 * What a browser lays out as one: more pieces than this, or more characters in a paragraph, are taken apart or shown as
 * plain text.
 */
export const MAX_PIECES = 1_000;
const MAX_PARAGRAPH_CHARACTERS = 16_000;

/** How deep pieces stand in one another. */
export const MAX_DEPTH = 24;

/**
 * Of eight parsers, the one whose time grows with the length alone on every hostile text that was tried. It leaves out
 * what is nested deeper than its own limit, so that has to be above ours.
 */
const markdown = new MarkdownIt({ html: false, breaks: true, linkify: true, maxNesting: 100 });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
// Letters of other alphabets can look like those of a known address.
markdown.normalizeLinkText = (url) => url;
markdown.use(mathAsCode);

/** Where a link of an answer may lead. */
const LINK = /^(?:https?:\/\/|mailto:)/i;

const TAGS: Record<string, string> = { s: 'del' };

/** Sets Markdown as models write it. HTML in it is something the model talks about: it is shown, not used. Pure. */
export function setMarkdown({ text, whole, room }: MarkdownJob): MarkdownResult {
  const tokens = markdown.parse(text, {});
  const starts = lineStarts(text);
  const startOf = (line: number) => starts[line] ?? text.length;
  const blocks: string[] = [];
  /** The first line of each top-level block, and how many blocks were there before. */
  const tops: Array<{ line: number; before: number }> = [];
  let intricate = false;
  let end = text.length;
  for (const top of topLevel(tokens)) {
    const [from, to] = top[0]?.map ?? [0, 0];
    if (blocks.length >= room) {
      end = startOf(from);
      break;
    }
    tops.push({ line: from, before: blocks.length });
    const pieces = piecesOf(top)?.flatMap((piece) => fitting(piece) ?? [undefined]) ?? [undefined];
    const isFitting = pieces.every((piece) => piece !== undefined);
    intricate ||= !isFitting;
    const shown = isFitting ? pieces : plainPieces(text.slice(startOf(from), startOf(to)));
    for (const piece of shown) blocks.push(JSON.stringify(piece));
  }
  const settled = whole ? NOTHING : settledOf(tops, starts.length - 1, startOf);
  return { blocks, settled, end, intricate };
}

const NOTHING = { blocks: 0, at: 0 };

/**
 * The last line may turn out to be anything, so the block before it may still go on; it and what follows is set again
 * with what comes next.
 */
function settledOf(
  tops: ReadonlyArray<{ line: number; before: number }>,
  lastLine: number,
  startOf: (line: number) => number,
) {
  const unsure = tops.findIndex(({ line }) => line >= lastLine);
  const again = tops[Math.max(0, (unsure < 0 ? tops.length : unsure) - 1)];
  return again ? { blocks: again.before, at: startOf(again.line) } : NOTHING;
}

/** Where each line begins. */
function lineStarts(text: string): number[] {
  return [0, ...[...text.matchAll(/\r\n?|\n/g)].map((end) => end.index + end[0].length)];
}

/** The tokens of each block that stands in no other. */
function topLevel(tokens: Token[]): Token[][] {
  const tops: Token[][] = [];
  let depth = 0;
  for (const token of tokens) {
    if (depth === 0) tops.push([token]);
    else tops.at(-1)?.push(token);
    depth += token.nesting;
  }
  return tops;
}

/** Undefined when they stand too deep in one another. */
function piecesOf(tokens: Token[]): Piece[] | undefined {
  const root: Open = { children: [] };
  const open: Open[] = [root];
  function put(piece: Piece) {
    const children = open.at(-1)?.children ?? root.children;
    const last = children.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') {
      children[children.length - 1] = last + piece;
    } else if (piece !== '') children.push(piece);
  }
  for (const token of inOrder(tokens)) {
    if (token.nesting > 0) {
      open.push(opened(token, open.at(-1)));
      if (open.length > MAX_DEPTH) return undefined;
    } else if (token.nesting < 0) {
      const { tag, attributes = 0, children } = open.pop() ?? root;
      if (tag === undefined) for (const child of children) put(child);
      else put([tag, attributes, children]);
    } else put(pieceOf(token, open));
  }
  return root.children;
}

/** An element that is not closed yet; without a tag, what is in it stands in the one around it. */
interface Open {
  tag?: string;
  attributes?: Attributes;
  children: Piece[];
}

/** What stands within lines comes in the place of the lines. */
function* inOrder(tokens: Token[]): Iterable<Token> {
  for (const token of tokens) {
    if (token.type === 'inline') yield* token.children ?? [];
    else yield token;
  }
}

function opened(token: Token, around: Open | undefined): Open {
  const { tag, hidden } = token;
  const children: Piece[] = [];
  if (hidden) return { children };
  if (tag === 'a') {
    const href = String(token.attrGet('href') ?? '');
    return LINK.test(href) && around ? { tag, attributes: { href }, children } : { children };
  }
  const start = token.attrGet('start');
  if (tag === 'ol' && start !== null)
    return { tag, attributes: { start: String(start) }, children };
  const align = /^text-align:(left|center|right)$/.exec(String(token.attrGet('style') ?? ''))?.[1];
  if (align !== undefined) return { tag, attributes: { align }, children };
  return { tag: TAGS[tag] ?? tag, children };
}

function pieceOf(token: Token, open: readonly Open[]): Piece {
  switch (token.type) {
    case 'fence':
    case 'code_block': {
      const language = /^\S{1,40}/.exec(token.info.trim())?.[0];
      const code = token.content.replace(/\n$/, '');
      return ['pre', language === undefined ? 0 : { language }, [code]];
    }
    case 'code_inline':
      return ['code', 0, [token.content]];
    case 'softbreak':
    case 'hardbreak':
      return ['br', 0, []];
    case 'hr':
      return ['hr', 0, []];
    case 'image': {
      // Showing a picture would make the browser call whoever the answer names.
      const href = String(token.attrGet('src') ?? '');
      const words = `Picture: ${token.content || href}`;
      const inLink = open.some(({ tag }) => tag === 'a');
      return LINK.test(href) && !inLink ? ['a', { href }, [words]] : words;
    }
    default:
      return withMoments(isFirstOfItem(open) ? withBox(token.content) : token.content);
  }
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

/** The words with the moments that they name drawn by the reader's clock. */
const withMoments = (words: string): string =>
  splitInstants(words)
    .map((part) =>
      typeof part === 'string' ? part : (part.hasDate ? day : clock).format(part.atMs),
    )
    .join('');

/** Whether what comes next are the first words of an item of a list. */
function isFirstOfItem(open: readonly Open[]): boolean {
  const [item, words] = open.slice(-2);
  if (words?.children.length !== 0) return false;
  return item?.tag === 'li' && item.children.length === 0 && words.tag !== 'ul';
}

/** The words of a task with a box to see, which nobody can tick. */
const withBox = (words: string) =>
  words.replace(/^\[([ xX])\](?=\s)/, (_, mark: string) => (mark === ' ' ? '☐' : '☑'));

/** How many pieces there are in it, itself included. */
function weightOf(piece: Piece): number {
  if (typeof piece === 'string') return 1;
  const [, , children] = piece;
  return children.reduce<number>((sum, child) => sum + weightOf(child), 1);
}

/** Code is not counted: its lines do not flow, which is what takes long. */
function charactersOf(piece: Piece): number {
  if (typeof piece === 'string') return piece.length;
  const [tag, , children] = piece;
  if (tag === 'pre') return 0;
  return children.reduce<number>((sum, child) => sum + charactersOf(child), 0);
}

/** The piece, or what it can be taken apart into, each light enough to be laid out; undefined when it cannot. */
function fitting(piece: Piece): Piece[] | undefined {
  if (typeof piece === 'string') return [piece];
  const [tag, attributes, children] = piece;
  if (tag === 'pre') return [piece];
  const fits = weightOf(piece) <= MAX_PIECES && charactersOf(piece) <= MAX_PARAGRAPH_CHARACTERS;
  if (fits) return [piece];
  if (tag === 'table') return partsOfTable(children);
  if (!['ul', 'ol', 'blockquote'].includes(tag)) return undefined;
  const groups = grouped(children);
  let number = Number(attributes === 0 ? 1 : (attributes.start ?? 1));
  return groups?.map((group) => {
    const start = String(number);
    number += group.length;
    return [tag, tag === 'ol' && start !== '1' ? { start } : 0, group];
  });
}

/** Each part has the head of the whole. */
function partsOfTable([head, body]: Piece[]): Piece[] | undefined {
  if (head === undefined || body === undefined || typeof body === 'string') return undefined;
  const [, , rows] = body;
  // Repeated for each, it would be most of what there is.
  if (weightOf(head) > MAX_PIECES / 4) return undefined;
  return grouped(rows, weightOf(head))?.map((group) => ['table', 0, [head, ['tbody', 0, group]]]);
}

/** Pieces in their order, as many together as are light enough; undefined when one alone is not. */
function grouped(pieces: readonly Piece[], extra = 0): Piece[][] | undefined {
  const groups: Piece[][] = [];
  let weight = MAX_PIECES;
  let characters = 0;
  for (const piece of pieces) {
    const [more, longer] = [weightOf(piece), charactersOf(piece)];
    if (more + extra >= MAX_PIECES || longer > MAX_PARAGRAPH_CHARACTERS) return undefined;
    if (weight + more >= MAX_PIECES || characters + longer > MAX_PARAGRAPH_CHARACTERS) {
      groups.push([]);
      weight = extra;
      characters = 0;
    }
    groups.at(-1)?.push(piece);
    weight += more;
    characters += longer;
  }
  return groups;
}
