import type { Token } from 'markdown-it';
import MarkdownIt from 'markdown-it';
import { splitInstants } from '../../shared/from-bot.ts';
import type { MarkdownJob, MarkdownPiece, MarkdownResult, PieceAttributes } from './blocks.ts';
import { plainPieces } from './plain-text.ts';

/** Limits of a block, because a browser lays it out at once. A larger block is split or shown as plain text. */
export const MAX_PIECES = 1_000;
const MAX_PARAGRAPH_CHARACTERS = 16_000;

export const MAX_DEPTH = 24;

/**
 * markdown-it is the only one of eight parsers whose time stayed linear on every hostile text that was tried. It leaves out text
 * nested deeper than its own limit, so that limit must be higher than ours.
 */
const markdown = new MarkdownIt({ html: false, breaks: true, linkify: true, maxNesting: 100 });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
// A decoded address could imitate a known one with letters of another alphabet.
markdown.normalizeLinkText = (url) => url;

const LINK = /^(?:https?:\/\/|mailto:)/i;

const TAGS: Record<string, string> = { s: 'del' };

/** Formats Markdown as models write it. HTML is shown as text, because the model only talks about it. Pure. */
export function formatMarkdown({ text, whole, room }: MarkdownJob): MarkdownResult {
  const tokens = markdown.parse(text, {});
  const starts = lineStarts(text);
  const startOf = (line: number) => starts[line] ?? text.length;
  const blocks: string[] = [];
  /** First line of each top-level block, and the number of blocks before it. */
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

/** The last line is incomplete, so even the block before it may continue. That block and the rest are formatted again. */
function settledOf(
  tops: ReadonlyArray<{ line: number; before: number }>,
  lastLine: number,
  startOf: (line: number) => number,
) {
  const unsure = tops.findIndex(({ line }) => line >= lastLine);
  const again = tops[Math.max(0, (unsure < 0 ? tops.length : unsure) - 1)];
  return again ? { blocks: again.before, at: startOf(again.line) } : NOTHING;
}

function lineStarts(text: string): number[] {
  return [0, ...[...text.matchAll(/\r\n?|\n/g)].map((end) => end.index + end[0].length)];
}

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

/** Returns `undefined` if the tokens are nested too deep. */
function piecesOf(tokens: Token[]): MarkdownPiece[] | undefined {
  const root: OpenElement = { children: [] };
  const open: OpenElement[] = [root];
  function put(piece: MarkdownPiece) {
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

/** An element that is not closed yet. Without a tag, its children belong to its parent. */
interface OpenElement {
  tag?: string;
  attributes?: PieceAttributes;
  children: MarkdownPiece[];
}

function* inOrder(tokens: Token[]): Iterable<Token> {
  for (const token of tokens) {
    if (token.type === 'inline') yield* token.children ?? [];
    else yield token;
  }
}

function opened(token: Token, around: OpenElement | undefined): OpenElement {
  const { tag, hidden } = token;
  const children: MarkdownPiece[] = [];
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

function pieceOf(token: Token, open: readonly OpenElement[]): MarkdownPiece {
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
      // An image would make the browser send a request to any server that the answer names.
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

const withMoments = (words: string): string =>
  splitInstants(words)
    .map((part) =>
      typeof part === 'string' ? part : (part.hasDate ? day : clock).format(part.atMs),
    )
    .join('');

function isFirstOfItem(open: readonly OpenElement[]): boolean {
  const [item, words] = open.slice(-2);
  if (words?.children.length !== 0) return false;
  return item?.tag === 'li' && item.children.length === 0 && words.tag !== 'ul';
}

const withBox = (words: string) =>
  words.replace(/^\[([ xX])\](?=\s)/, (_, mark: string) => (mark === ' ' ? '☐' : '☑'));

function weightOf(piece: MarkdownPiece): number {
  if (typeof piece === 'string') return 1;
  const [, , children] = piece;
  return children.reduce<number>((sum, child) => sum + weightOf(child), 1);
}

/** Code isn't counted, because only wrapping lines is slow. */
function charactersOf(piece: MarkdownPiece): number {
  if (typeof piece === 'string') return piece.length;
  const [tag, , children] = piece;
  if (tag === 'pre') return 0;
  return children.reduce<number>((sum, child) => sum + charactersOf(child), 0);
}

/** Splits a piece that is over a limit. Returns `undefined` if that isn't possible. */
function fitting(piece: MarkdownPiece): MarkdownPiece[] | undefined {
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

/** Each part repeats the table's head. */
function partsOfTable([head, body]: MarkdownPiece[]): MarkdownPiece[] | undefined {
  if (head === undefined || body === undefined || typeof body === 'string') return undefined;
  const [, , rows] = body;
  // A large head would fill most of each part.
  if (weightOf(head) > MAX_PIECES / 4) return undefined;
  return grouped(rows, weightOf(head))?.map((group) => ['table', 0, [head, ['tbody', 0, group]]]);
}

/** Groups pieces within the limits. Returns `undefined` if a single piece is over a limit. */
function grouped(pieces: readonly MarkdownPiece[], extra = 0): MarkdownPiece[][] | undefined {
  const groups: MarkdownPiece[][] = [];
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
