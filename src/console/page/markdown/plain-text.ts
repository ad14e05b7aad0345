import type { MarkdownPiece } from './blocks.ts';

/** Plain text is split into boxes of this size, because a browser lays out only the boxes in sight. */
const BOX_CHARACTERS = 2_000;

/** Distance from the limit within which the cut may be. */
const LOOK_BACK = 1_000;

/** Returns the end of the box that begins at `start`: after a line, otherwise after a word, otherwise anywhere. Pure. */
export function endOfBox(text: string, start: number, characters = BOX_CHARACTERS): number {
  const end = start + characters;
  if (end >= text.length) return text.length;
  const from = end - Math.min(LOOK_BACK, characters);
  const before = text.slice(from, end);
  const cut = before.lastIndexOf('\n') + 1 || before.lastIndexOf(' ') + 1;
  if (cut > 0) return from + cut;
  // A cut must not separate the two halves of one character.
  return /[\uD800-\uDBFF]$/.test(before) ? end - 1 : end;
}

export function boxesOf(text: string): string[] {
  const boxes: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = endOfBox(text, start);
    boxes.push(text.slice(start, end));
    start = end;
  }
  return boxes;
}

export const plainPieces = (text: string): MarkdownPiece[] =>
  boxesOf(text).map((box) => ['div', { class: 'plain' }, [box]]);
