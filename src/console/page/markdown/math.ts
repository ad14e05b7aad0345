import type { MarkdownIt, StateBlock, StateInline } from 'markdown-it';

/** A formula within a line: its ends, and whether it may go over lines. */
const INLINE = [
  { open: '\\(', close: '\\)' },
  { open: '\\[', close: '\\]' },
  { open: '$$', close: '$$' },
] as const;

/** Formulas on lines of their own, by the line before them. */
const BLOCK: Record<string, string> = { $$: '$$', '\\[': '\\]' };

/** Makes formulas code: nothing here can draw them, and as code their signs stay together. */
export function mathAsCode(markdown: MarkdownIt): void {
  markdown.inline.ruler.before('escape', 'math', inlineMath);
  markdown.block.ruler.before('fence', 'math_block', blockMath, {
    alt: ['paragraph', 'reference', 'blockquote', 'list'],
  });
}

function inlineMath(state: StateInline, silent: boolean): boolean {
  const { src, pos } = state;
  const sign = src[pos];
  if (sign !== '$' && sign !== '\\') return false;
  const ends = INLINE.find(({ open }) => src.startsWith(open, pos));
  const found = ends ? between(state, ends) : betweenDollars(src, pos);
  if (!found || found.end > state.posMax) return false;
  if (!silent) {
    const token = state.push('code_inline', 'code', 0);
    token.content = found.content.trim().replaceAll('\n', ' ');
  }
  state.pos = found.end;
  return true;
}

interface Found {
  content: string;
  /** Behind it. */
  end: number;
}

function between(
  { src, pos, env }: StateInline,
  { open, close }: { open: string; close: string },
): Found | undefined {
  // In a run of dollars, only its beginning can open.
  if (open === '$$' && (src[pos - 1] === '$' || src[pos + 2] === '$')) return undefined;
  // Where one opening finds no end, none behind it does: each searching again would take quadratic time.
  const known = env as { withoutEnd?: { src: string; closes: Set<string> } };
  if (known.withoutEnd?.src !== src) known.withoutEnd = { src, closes: new Set() };
  const { closes } = known.withoutEnd;
  if (closes.has(close)) return undefined;
  const start = pos + open.length;
  const end = src.indexOf(close, start);
  if (end < 0) closes.add(close);
  const content = src.slice(start, Math.max(end, start));
  return content.trim() === '' ? undefined : { content, end: end + close.length };
}

/** Between single dollars, which are mostly prices: as Pandoc has it, so `$5 and $6` is none. */
function betweenDollars(src: string, pos: number): Found | undefined {
  if (src[pos] !== '$' || /[\w$]/.test(src[pos - 1] ?? '')) return undefined;
  const end = src.indexOf('$', pos + 1);
  const content = src.slice(pos + 1, Math.max(end, pos + 1));
  if (content === '' || content.trim() !== content || content.includes('\n')) return undefined;
  return /\w/.test(src[end + 1] ?? '') ? undefined : { content, end: end + 1 };
}

/** As a fence: a formula without an end goes to the end of what it stands in. */
function blockMath(
  state: StateBlock,
  startLine: number,
  endLine: number,
  silent: boolean,
): boolean {
  const lineOf = (line: number) =>
    state.src.slice((state.bMarks[line] ?? 0) + (state.tShift[line] ?? 0), state.eMarks[line]);
  const indent = (line: number) => (state.sCount[line] ?? 0) - state.blkIndent;
  if (indent(startLine) >= 4) return false;
  const close = BLOCK[lineOf(startLine).trimEnd()];
  if (close === undefined) return false;
  if (silent) return true;
  let line = startLine + 1;
  let last = '';
  let closed = false;
  for (; line < endLine && !closed; line += 1) {
    const text = lineOf(line).trimEnd();
    if (text !== '' && indent(line) < 0) break;
    closed = text.endsWith(close);
    if (closed) last = text.slice(0, -close.length);
  }
  const token = state.push('fence', 'code', 0);
  const lines = state.getLines(startLine + 1, closed ? line - 1 : line, state.blkIndent, true);
  token.content = last.trim() === '' ? lines : `${lines}${last}\n`;
  token.markup = '$$';
  token.map = [startLine, line];
  state.line = line;
  return true;
}
