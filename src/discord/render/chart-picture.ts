import { createRequire } from 'node:module';
import type { Chart } from '../../bot/shared/card.ts';
import {
  type ChartBox,
  type ChartLayout,
  layOut,
  momentLabel,
} from '../../bot/shared/chart-layout.ts';

/** The width of an embed's picture, drawn with twice the pixels for sharp screens. */
const BOX: ChartBox = { width: 520, height: 200, left: 58, right: 14, top: 16, bottom: 30 };
const ZOOM = 2;

/** On a ground of its own, so that it reads in a dark and in a light Discord. */
const COLOR = {
  ground: '#1e1f27',
  grid: '#343642',
  words: '#b9bccb',
  line: '#8f8bff',
  down: '#5a2331',
  downWords: '#ff9dac',
  unseen: '#272934',
} as const;

/** A font that comes with the program: a server may have none at all, and a missing label would not be noticed. */
const FONT = {
  family: 'Questrial',
  file: '@expo-google-fonts/questrial/400Regular/Questrial_400Regular.ttf',
  size: 12.5,
};
const { resolve } = createRequire(import.meta.url);

/** Characters that every font has. */
const KNOWN = /^[\x20-\x7e]*$/;

/** An outage narrower than this has no room for its word. */
const WORD_WIDTH = 36;

/** Narrower than this it would not be seen. */
const MIN_WIDTH = 2;

/** A text at a place: `x` is its left, middle or right edge, `y` the line that it stands on. */
interface Label {
  text: string;
  x: number;
  y: number;
  anchor: 'middle' | 'end';
}

/**
 * Draws the chart as a PNG. It contains only numbers, times in UTC or the chart's zone, and the word "down". Throws if the
 * library or the font is missing, or if a unit has characters that the font may lack.
 */
export async function pictureOf(chart: Chart): Promise<Buffer> {
  const svg = svgOf(chart);
  // Only where a chart is shown: it is four megabytes of machine code.
  const { renderAsync } = await import('@resvg/resvg-js');
  const image = await renderAsync(svg, {
    font: { loadSystemFonts: false, fontFiles: [resolve(FONT.file)] },
    fitTo: { mode: 'zoom', value: ZOOM },
  });
  return image.asPng();
}

/** The chart as SVG. Throws for a unit with characters that the font may lack. Pure. */
export function svgOf(chart: Chart): string {
  const layout = layOut(chart, BOX);
  const { width, height } = BOX;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="${COLOR.ground}"/>`,
    ...layout.unseen.map((span) => bandOf(span, COLOR.unseen)),
    gridOf(layout),
    ...layout.outages.map((span) => bandOf(span, COLOR.down)),
    linesOf(layout),
    `<g font-family="${FONT.family}" font-size="${FONT.size}">`,
    `<g fill="${COLOR.words}">${axisLabels(layout, chart).map(textOf).join('')}</g>`,
    `<g fill="${COLOR.downWords}">${downLabels(layout).map(textOf).join('')}</g>`,
    '</g></svg>',
  ].join('');
}

function bandOf({ x, width }: { x: number; width: number }, fill: string): string {
  const shown = Math.max(MIN_WIDTH, width);
  const height = BOX.height - BOX.top - BOX.bottom;
  return `<rect x="${round(x)}" y="${BOX.top}" width="${round(shown)}" height="${height}" fill="${fill}"/>`;
}

function gridOf({ values, times }: ChartLayout): string {
  const bottom = BOX.height - BOX.bottom;
  const across = values.map(({ y }) => `M${BOX.left} ${round(y)}H${BOX.width - BOX.right}`);
  const ticks = times.map(({ x }) => `M${round(x)} ${bottom}v4`);
  return `<path d="${[...across, ...ticks].join('')}" stroke="${COLOR.grid}" fill="none"/>`;
}

function linesOf({ runs }: ChartLayout): string {
  const lines = runs
    .filter((run) => run.length > 1)
    .map((run) => `M${run.map(({ x, y }) => `${round(x)} ${round(y)}`).join('L')}`);
  const dots = runs
    .filter((run) => run.length === 1)
    .flat()
    .map(({ x, y }) => `<circle cx="${round(x)}" cy="${round(y)}" r="2.6" fill="${COLOR.line}"/>`);
  const line = `<path d="${lines.join('')}" fill="none" stroke="${COLOR.line}" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"/>`;
  return (lines.length > 0 ? line : '') + dots.join('');
}

function axisLabels({ values, times }: ChartLayout, chart: Chart): Label[] {
  const right = { x: BOX.left - 8, anchor: 'end' } as const;
  const y = BOX.height - BOX.bottom + 20;
  const clocks = times
    // The corner is for the zone, which all of them are in.
    .filter(({ x }) => x > BOX.left + 14)
    .map(({ x, atMs }): Label => ({ text: momentLabel(chart, atMs), x, y, anchor: 'middle' }));
  return [
    ...values.map(({ y: at, label }): Label => ({ text: label, y: at + 4.5, ...right })),
    ...clocks,
    // A zone's name may have characters that the font lacks; the card shows it.
    ...(chart.zone === undefined ? [{ text: 'UTC', y, ...right }] : []),
  ];
}

const downLabels = ({ outages }: ChartLayout): Label[] =>
  outages
    .filter(({ width }) => width >= WORD_WIDTH)
    .map(({ x, width }) => ({ text: 'down', x: x + width / 2, y: BOX.top + 15, anchor: 'middle' }));

function textOf({ text, x, y, anchor }: Label): string {
  if (!KNOWN.test(text)) throw new Error(`The chart font may lack a character of “${text}”.`);
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escaped(text)}</text>`;
}

const escaped = (text: string) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const round = (pixels: number) => Math.round(pixels * 100) / 100;
