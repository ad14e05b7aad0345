import type { types } from '@slack/bolt';
import {
  type Card,
  type CardPart,
  type Chart,
  chartText,
  type Fact,
  type FindingsPart,
  factText,
  findingsText,
  hostLink,
  linkOf,
  TONES,
} from '../../bot/shared/card.ts';
import { isMask } from '../../bot/shared/masked-links.ts';
import { splitInstants } from '../../bot/shared/text-format.ts';
import {
  type Content,
  context,
  MAX_FALLBACK,
  oneLine,
  plainText,
  renderButtons,
  section,
} from './blocks.ts';
import { MAX_CHARTS, renderChart } from './render-chart.ts';
import { clip, clipEscaped, plain } from './text.ts';

/**
 * Slack's limits in UTF-16 units. Source: Slack docs, "Block Kit" reference pages of the blocks; "chat.update", errors:
 * `msg_too_long` above 4,000.
 */
const MAX_HEADER = 150;
const MAX_PART = 3_000;
const MAX_BLOCKS = 50;
const MAX_TABLE_ROWS = 100;
const MAX_TABLE_COLUMNS = 20;
const MAX_CELL = 200;
const MAX_FINDINGS = 50;
/** Slack refuses messages of about 13,200 characters in blocks altogether, which no page says; this stays well below. */
const MAX_MESSAGE = 9_000;

/**
 * A card as a message in blocks that Slack doesn't parse. `called` is the checked id of a user group, or of a person with @ in
 * front.
 */
export function renderCard(card: Card, called?: string): Content {
  const heads: types.KnownBlock[] = [renderHead(card)];
  if (called !== undefined) {
    heads.unshift(section([elementOf(called)]));
  }
  const blocks = [...heads, ...renderBody(card, { heads: heads.length, tables: 1 })];
  const title = titleOf(card, MAX_HEADER);
  const text = clipEscaped([title, ...card.parts.map(partText)].join('\n'), MAX_FALLBACK);
  return { text: withCalled(text, called), blocks };
}

const elementOf = (called: string) =>
  called.startsWith('@')
    ? ({ type: 'user', user_id: called.slice(1) } as const)
    : ({ type: 'usergroup', usergroup_id: called } as const);

function withCalled(text: string, called: string | undefined): string {
  if (called === undefined) return text;
  return `${called.startsWith('@') ? `<${called}>` : `<!subteam^${called}>`} ${text}`;
}

export const renderHead = (card: Card): types.HeaderBlock => ({
  type: 'header',
  text: plainText(titleOf(card, MAX_HEADER)),
});

/** The part of a card below its `heads`. Only messages may have charts and `tables` of Slack's own. */
export function renderBody(
  card: Pick<Card, 'parts' | 'actions' | 'link' | 'footer'>,
  { heads, tables }: { heads: number; tables: 0 | 1 },
): types.KnownBlock[] {
  const blocks: types.KnownBlock[] = [];
  const room = { left: MAX_MESSAGE, tables, charts: tables === 0 ? 0 : MAX_CHARTS };
  const buttons = renderButtons(card.actions, linkOf(card));
  // Kept free: the mark below, the footer, a sender's note, and the buttons.
  const max = MAX_BLOCKS - heads - 3 - buttons.length;
  for (const part of card.parts) {
    if (blocks.length === max || room.left <= 0) {
      blocks.push(section([{ type: 'text', text: '…' }]));
      break;
    }
    const block = renderPart(part, room);
    if (block) blocks.push(block);
  }
  blocks.push(...buttons);
  const footer = oneLine(card.footer ?? '');
  if (footer !== '') blocks.push(context(footer));
  return blocks;
}

export function renderLine(card: Card, called?: string): Content {
  const text = titleOf(card, MAX_PART);
  const call = called === undefined ? [] : [elementOf(called)];
  return {
    text: withCalled(clipEscaped(text, MAX_FALLBACK), called),
    blocks: [section([...call, { type: 'text', text: called === undefined ? text : ` ${text}` }])],
  };
}

const titleOf = ({ tone, title }: Card, max: number) =>
  clip(`${TONES[tone]} ${oneLine(title) || 'Askwatch'}`, max);

/** The remaining room in a message. */
interface Room {
  left: number;
  tables: number;
  charts: number;
}

function takeText(text: string, room: Room): string {
  const taken = clip(text, Math.min(MAX_PART, room.left));
  room.left -= taken.length;
  return taken;
}

/** A link whose words are its host, if there is room for it. */
function takeLink(address: string | undefined, room: Room) {
  const { url, host: text } = hostLink(address) ?? {};
  const size = `${url}${text}`.length;
  if (url === undefined || size > room.left) return undefined;
  room.left -= size;
  return { type: 'link' as const, url, text };
}

function renderPart(part: CardPart, room: Room): types.KnownBlock | undefined {
  const take = (text: string) => takeText(text, room);
  switch (part.kind) {
    case 'text': {
      const text = take(plain(part.text).trim());
      return text === '' ? undefined : section(withDates(text));
    }
    case 'facts':
      return renderFacts(part.facts, room);
    case 'findings':
      return renderFindings(part, room);
    case 'table':
      return renderTable(part, room) ?? preformatted(take(tableText(part)));
    case 'code':
      return preformatted(take(plain(part.text).trimEnd()));
    case 'chart':
      return (
        chartBlock(part, room) ??
        section([{ type: 'text', text: take(plain(chartText(part))) || '–' }])
      );
  }
}

/** `undefined` if the chart can't be drawn or has no room. */
function chartBlock(chart: Chart, room: Room): types.KnownBlock | undefined {
  const block = room.charts === 0 ? undefined : renderChart(chart);
  const size = JSON.stringify(block ?? '').length;
  if (!block || size > room.left) return undefined;
  room.left -= size;
  room.charts -= 1;
  return block as types.Block as types.KnownBlock;
}

function renderFacts(facts: Fact[], room: Room): types.RichTextBlock | undefined {
  const lines = facts.flatMap(({ label, value }, index): types.RichTextElement[] => [
    {
      type: 'text',
      text: `${index === 0 ? '' : '\n'}${takeText(oneLine(label), room)}: `,
      style: { bold: true },
    },
    ...valueElements(value, room),
  ]);
  return lines.length === 0 ? undefined : section(lines);
}

function valueElements(value: Fact['value'], room: Room): types.RichTextElement[] {
  if (typeof value === 'string') return withDates(takeText(plain(value), room) || '–');
  if ('atMs' in value) {
    return [dateElement('{date_short_pretty} {time_secs}', value.atMs, utc(value.atMs))];
  }
  const text = takeText(oneLine(value.text), room) || '–';
  const link = isMask(text, value.url) ? undefined : takeLink(value.url, room);
  if (!link) return [{ type: 'text', text }];
  return [{ ...link, text }, textElement(` (${link.text})`)];
}

/** Findings that don't fit are counted. */
function renderFindings({ heading = '', items }: FindingsPart, room: Room) {
  const title = takeText(oneLine(heading), room);
  const lines: types.RichTextElement[][] = [];
  for (const { atMs, text, url } of items.slice(0, MAX_FINDINGS)) {
    if (room.left <= 0) break;
    const words = withDates(takeText(oneLine(text), room) || '–');
    const link = takeLink(url, room);
    const date = atMs !== undefined && dateElement('{date_short_pretty} {time}', atMs, utc(atMs));
    lines.push([...(date ? [date, SPACE] : []), ...words, ...(link ? [SPACE, link] : [])]);
  }
  const missing = items.length - lines.length;
  if (missing > 0) lines.push([textElement(`… and ${missing} more`)]);
  const block = section(title === '' ? [] : [{ ...textElement(title), style: { bold: true } }]);
  const elements = lines.map((line) => ({ type: 'rich_text_section' as const, elements: line }));
  const list = { type: 'rich_text_list' as const, style: 'bullet' as const, elements };
  const parts = [...(title === '' ? [] : block.elements), ...(lines.length === 0 ? [] : [list])];
  return parts.length === 0 ? undefined : { ...block, elements: parts };
}

const textElement = (text: string) => ({ type: 'text' as const, text });

const SPACE = textElement(' ');

/** A time in the reader's zone. Source: Slack docs, "Date element". */
const dateElement = (format: string, atMs: number, fallback: string): types.RichTextElement => ({
  type: 'date',
  timestamp: Math.floor(atMs / 1000),
  format,
  fallback,
});

const withDates = (text: string): types.RichTextElement[] =>
  splitInstants(text).map((part) => {
    if (typeof part === 'string') return { type: 'text', text: part };
    const time = part.hasSeconds ? '{time_secs}' : '{time}';
    return dateElement(part.hasDate ? `{date_short_pretty} ${time}` : time, part.atMs, part.text);
  });

const utc = (atMs: number) => `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** Slack's own table; `undefined` if it has no room. */
function renderTable(
  { columns, rows }: CardPart & { kind: 'table' },
  room: Room,
): types.TableBlock | undefined {
  if (room.tables === 0 || rows.length >= MAX_TABLE_ROWS || columns.length > MAX_TABLE_COLUMNS) {
    return undefined;
  }
  const cells = [columns, ...rows].map((row) =>
    columns.map((_, column) => clip(oneLine(row[column] ?? ''), MAX_CELL) || '–'),
  );
  const size = cells.flat().reduce((sum, cell) => sum + cell.length, 0);
  if (size === 0 || size > room.left) return undefined;
  room.left -= size;
  room.tables -= 1;
  return {
    type: 'table',
    rows: cells.map((row) =>
      row.map((text) => {
        const elements = withDates(text);
        const hasDate = elements.some(({ type }) => type === 'date');
        return hasDate ? section(elements) : { type: 'raw_text', text };
      }),
    ),
    column_settings: columns.map(() => ({ is_wrapped: true })),
  };
}

/** Aligned lines for a fixed-width font. */
function tableText({ columns, rows }: CardPart & { kind: 'table' }): string {
  const cells = [columns, ...rows].map((row) =>
    columns.map((_, column) => clip(oneLine(row[column] ?? ''), 60)),
  );
  const widths = columns.map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function partText(part: CardPart): string {
  switch (part.kind) {
    case 'text':
    case 'code':
      return part.text;
    case 'facts':
      return part.facts.map((fact) => `${fact.label}: ${factText(fact, utc)}`).join('\n');
    case 'table':
      return part.rows.map((row) => row.join(' · ')).join('\n');
    case 'findings':
      return findingsText(part, utc);
    case 'chart':
      return chartText(part);
  }
}

function preformatted(text: string): types.RichTextBlock | undefined {
  if (text === '') return undefined;
  const elements: types.RichTextText[] = [{ type: 'text', text }];
  return { type: 'rich_text', elements: [{ type: 'rich_text_preformatted', elements }] };
}
