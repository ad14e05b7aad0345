import type { Piece } from './blocks.ts';

/** Characters of plain text in one box, so that a browser lays out only those boxes that are seen. */
const BOX_CHARACTERS = 4_000;

/** How far back a better place to cut is looked for. */
const LOOK_BACK = 1_000;

/** Where the box of plain text that begins at `start` ends: after a line, else after a word, else anywhere. Pure. */
export function endOfBox(text: string, start: number, characters = BOX_CHARACTERS): number {
  const end = start + characters;
  if (end >= text.length) return text.length;
  const from = end - Math.min(LOOK_BACK, characters);
  const before = text.slice(from, end);
  const cut = before.lastIndexOf('\n') + 1 || before.lastIndexOf(' ') + 1;
  if (cut > 0) return from + cut;
  // Not between the two halves of one character.
  return /[\uD800-\uDBFF]$/.test(before) ? end - 1 : end;
}

/** The text in boxes. Pure. */
export function boxesOf(text: string): string[] {
  const boxes: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = endOfBox(text, start);
    boxes.push(text.slice(start, end));
    start = end;
  }
  return boxes;
}

/** The text as it is, in boxes of their own. Pure. */
export const plainPieces = (text: string): Piece[] =>
  boxesOf(text).map((box) => ['div', { class: 'plain' }, [box]]);
