import { type Severity, severityOf } from '../../bot/shared/status.ts';
import { shortened } from '../../bot/shared/text-format.ts';
import { xmlText } from '../shared/xml-text.ts';

const MAX_LABEL_LENGTH = 40;
const MAX_VALUE_LENGTH = 20;
const HEIGHT = 20;
const PADDING = 7;

/** White text is readable on each of them, with a contrast of at least 4.5. Source: WCAG 2.2, 1.4.3. */
const COLOURS: Record<Severity, string> = {
  well: '#15803d',
  down: '#b91c1c',
  silenced: '#4b5563',
  pending: '#4b5563',
  degraded: '#a34100',
};
const OWN_COLOURS = new Map([
  ['UNKNOWN', '#4b5563'],
  ['MAINTENANCE', '#1d4ed8'],
]);

/** Draws a badge with a name and a status as SVG. Pure. */
export function badge(name: string, status: string): string {
  const label = shortened(oneLine(name), MAX_LABEL_LENGTH);
  const value = shortened(oneLine(status).toLowerCase(), MAX_VALUE_LENGTH);
  const labelWidth = Math.round(widthOf(label)) + 2 * PADDING;
  const valueWidth = Math.round(widthOf(value)) + 2 * PADDING;
  const width = labelWidth + valueWidth;
  const spoken = xmlText(`${label}: ${value}`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${HEIGHT}" role="img" aria-label="${spoken}">`,
    `<title>${spoken}</title>`,
    `<clipPath id="r"><rect width="${width}" height="${HEIGHT}" rx="4"/></clipPath>`,
    `<g clip-path="url(#r)"><rect width="${labelWidth}" height="${HEIGHT}" fill="#374151"/>`,
    `<rect x="${labelWidth}" width="${valueWidth}" height="${HEIGHT}" fill="${colourOf(value)}"/></g>`,
    `<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">`,
    text(label, PADDING, labelWidth - 2 * PADDING),
    text(value, labelWidth + PADDING, valueWidth - 2 * PADDING),
    '</g></svg>',
  ].join('');
}

/** Stretches the text to the width that the badge was laid out for, in any font. */
function text(words: string, x: number, width: number): string {
  return `<text x="${x}" y="14" textLength="${width}" lengthAdjust="spacingAndGlyphs">${xmlText(words)}</text>`;
}

const colourOf = (value: string) =>
  OWN_COLOURS.get(value.toUpperCase()) ?? COLOURS[severityOf(value)];

const oneLine = (words: string) => words.replace(/[\p{Cc}\s]+/gu, ' ').trim() || '?';

/** Characters of Verdana at 11 pixels that are narrower or wider than most. */
const NARROW = /[ .,:;!|'ijlft()[\]{}I/-]/;
const WIDE = /[mwMW@%]/;
/** East Asian letters and pictures are as wide as high. */
const SQUARE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|\p{Extended_Pictographic}/u;

function widthOf(words: string): number {
  let width = 0;
  for (const sign of words) {
    if (/\p{M}|\p{Cf}/u.test(sign)) continue;
    width += SQUARE.test(sign) ? 12 : WIDE.test(sign) ? 10 : NARROW.test(sign) ? 4.5 : 7;
  }
  return Math.max(width, 4.5);
}
