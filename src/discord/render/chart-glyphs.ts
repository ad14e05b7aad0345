/**
 * The characters of a chart's labels as strokes, of our own drawing: a server may have no font at all, and a label that
 * is left out would not be missed. Each stands on a grid in which a digit is 10 high; `width` is how far the next begins,
 * without the space between.
 */
const GLYPHS: Record<string, { path: string; width: number }> = {
  '0': { path: 'M3 0C.9 0 0 2.2 0 5s.9 5 3 5 3-2.2 3-5-.9-5-3-5', width: 6 },
  '1': { path: 'M0 2.4 2.6 0V10', width: 3.4 },
  '2': { path: 'M.2 2.8C.2-.9 5.8-.9 5.8 2.8 5.8 5.2 1.6 7 0 10H6', width: 6 },
  '3': {
    path: 'M.3 1.9C1-.6 5.6-.6 5.6 2.4 5.6 4.2 4.2 4.8 2.5 4.8 4.4 4.8 6 5.5 6 7.3 6 10.9.6 10.9 0 7.9',
    width: 6,
  },
  '4': { path: 'M4.6 10V0L0 7.2H6.2', width: 6.2 },
  '5': { path: 'M5.5 0H1L.6 4.6C2.6 3.2 6 3.8 6 6.8 6 10.6 1 11 0 8.3', width: 6 },
  '6': { path: 'M5.2.6C2-.9 0 2 0 6.4 0 11.2 6 11.2 6 6.8 6 2.8.8 2.8.1 6', width: 6 },
  '7': { path: 'M0 0H6L2.2 10', width: 6 },
  '8': { path: 'M3 4.7C-.5 4.7-.3 0 3 0S6.5 4.7 3 4.7C-1 4.7-1 10 3 10S7 4.7 3 4.7', width: 6 },
  '9': { path: 'M.8 9.4C4 10.9 6 8 6 3.6 6-1.2 0-1.2 0 3.2 0 7.2 5.2 7.2 5.9 4', width: 6 },
  '.': { path: 'M.5 9.8V10', width: 1 },
  ':': { path: 'M.5 3.7V3.9M.5 9.6V9.8', width: 1 },
  '-': { path: 'M0 6H4', width: 4 },
  '<': { path: 'M5 2.6 0 6 5 9.4', width: 5 },
  '%': { path: 'M7 0 0 10M0 1.5h.1v1H0zM6.9 7.5H7v1h-.1z', width: 7 },
  ' ': { path: '', width: 2.6 },
  C: { path: 'M6.4 2C4.9-1 0-.5 0 5S4.9 11 6.4 8', width: 6.4 },
  T: { path: 'M0 0H6.4M3.2 0V10', width: 6.4 },
  U: { path: 'M0 0V6.6C0 11.2 6.4 11.2 6.4 6.6V0', width: 6.4 },
  d: { path: 'M5 0V10M5 6.6C5 2.1 0 2.1 0 6.6S5 11.1 5 6.6', width: 5 },
  m: { path: 'M0 3.2V10M0 5.6C0 2.4 4 2.4 4 5.6V10M4 5.6C4 2.4 8 2.4 8 5.6V10', width: 8 },
  n: { path: 'M0 3.2V10M0 5.6C0 2.4 4.8 2.4 4.8 5.6V10', width: 4.8 },
  o: { path: 'M2.6 3C-.9 3-.9 10 2.6 10S6.1 3 2.6 3', width: 5.2 },
  s: {
    path: 'M4.6 4.5C4 2.6.2 2.6.3 4.8.4 7 4.9 5.8 4.9 8.1 4.9 10.6.6 10.5 0 8.5',
    width: 4.9,
  },
  w: { path: 'M0 3.2 1.9 10 3.7 4.4 5.5 10 7.4 3.2', width: 7.4 },
};

const SPACE = 2.2;

/** A label at a place: `x` is its left, middle or right edge, `y` its top; a digit is `size` pixels high. */
export interface Label {
  text: string;
  x: number;
  y: number;
  size: number;
  align: 'left' | 'middle' | 'right';
}

/** The label as strokes of SVG. Throws for a character that is not drawn, so that none vanishes unseen. Pure. */
export function strokesOf({ text, x, y, size, align }: Label): string {
  const scale = size / 10;
  const glyphs = [...text].map((character) => {
    const glyph = GLYPHS[character];
    if (!glyph) throw new Error(`There is no glyph for “${character}”.`);
    return glyph;
  });
  const widths = glyphs.map(({ width }) => (width + SPACE) * scale);
  const whole = widths.reduce((sum, width) => sum + width, 0) - SPACE * scale;
  let left = x - { left: 0, middle: whole / 2, right: whole }[align];
  return glyphs
    .map(({ path }, index) => {
      const at = `translate(${left.toFixed(2)} ${y.toFixed(2)}) scale(${scale})`;
      left += widths[index] ?? 0;
      return path === '' ? '' : `<path transform="${at}" d="${path}"/>`;
    })
    .join('');
}
