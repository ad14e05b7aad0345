import {
  type APIActionRowComponent,
  type APIButtonComponent,
  type APIEmbed,
  type APIEmbedField,
  ButtonStyle,
  ComponentType,
  type RESTPostAPIChannelMessageJSONBody,
} from 'discord.js';
import {
  type Card,
  type CardAction,
  type CardPart,
  chartText,
  compact,
  encodeAction,
  type Fact,
  type FindingItem,
  type FindingsPart,
  factText,
  hostLink,
  linkOf,
  TONES,
} from '../../bot/shared/card.ts';
import { isMask } from '../../bot/shared/masked-links.ts';
import {
  linkTarget,
  oneLine,
  plainUnlinked,
  plainWithin,
  plainWithTimes,
  timestamp,
  within,
  withoutMentions,
  withTimes,
} from './text.ts';

/** Source: Discord docs, "Embed Limits" (2,048 and 6,000 there); the total is of all texts of all embeds of a message. */
const Limit = {
  title: 256,
  description: 4_096,
  fields: 25,
  fieldName: 256,
  fieldValue: 1_024,
  // Room is left for the reference of an alert.
  footer: 2_000,
  total: 5_960,
} as const;

/** Source: Discord docs, "Component Reference". */
const MAX_BUTTONS = 5;
const MAX_LABEL = 80;

const COLORS: Record<Card['tone'], number> = {
  good: 0x2da44e,
  bad: 0xcf222e,
  warning: 0xd4a72c,
  info: 0x218bff,
};

/** Longest cell of a table; a longer line would wrap in a phone's width. */
const MAX_CELL = 40;

/** Longest text of a finding, so that several fit. */
const MAX_FINDING = 500;

/** Less room than this is not worth beginning a part in. */
const MIN_PART = 40;

/** Buttons are always included, so that an edit removes those of an earlier card. */
export function renderMessage(card: Card) {
  return {
    embeds: [renderEmbed(card)],
    components: renderButtons(card.actions, linkOf(card)),
  } satisfies RESTPostAPIChannelMessageJSONBody;
}

/** Longest content of a message, with room to spare. Source: Discord docs, "Create Message": 2,000. */
const MAX_LINE = 1_000;

/** A card's tone and title as the content of a message. Pure. */
export function renderLine({ tone, title }: Card): string {
  return `${TONES[tone]} ${plainWithin(oneLine(title), MAX_LINE) || 'Askwatch'}`;
}

const BUTTON_STYLES = {
  primary: ButtonStyle.Primary,
  danger: ButtonStyle.Danger,
  plain: ButtonStyle.Secondary,
} as const;

/** The row of buttons under a message; no row where there are none. Pure. */
export function renderButtons(
  actions: readonly CardAction[] = [],
  link?: Card['link'],
): APIActionRowComponent<APIButtonComponent>[] {
  const labelled = ({ label }: { label: string }) => ({
    type: ComponentType.Button as const,
    label: within(oneLine(label), MAX_LABEL) || '\u200b',
  });
  const components: APIButtonComponent[] = [
    ...actions.slice(0, MAX_BUTTONS).map((action) => ({
      ...labelled(action),
      style: BUTTON_STYLES[action.style ?? 'plain'],
      custom_id: encodeAction(action),
    })),
    ...(link ? [{ ...labelled(link), style: ButtonStyle.Link as const, url: link.url }] : []),
  ];
  return components.length === 0 ? [] : [{ type: ComponentType.ActionRow, components }];
}

/** A card as an embed: facts become fields, everything else the description; what does not fit is cut, and says so. Pure. */
function renderEmbed(card: Card): APIEmbed {
  const title = plainWithin(oneLine(card.title), Limit.title);
  const footer = card.footer && within(withoutMentions(card.footer), Limit.footer);
  let left = Limit.total - title.length - (footer?.length ?? 0);
  const description = descriptionOf(card.parts, Math.min(Limit.description, left));
  left -= description.length;
  const fields: APIEmbedField[] = [];
  const facts = card.parts.flatMap((part) => (part.kind === 'facts' ? part.facts : []));
  for (const field of facts.slice(0, Limit.fields).map(fieldOf)) {
    left -= field.name.length + field.value.length;
    if (left < 0) break;
    fields.push(field);
  }
  return {
    title,
    color: COLORS[card.tone],
    ...(description === '' ? {} : { description }),
    ...(fields.length === 0 ? {} : { fields }),
    ...(footer ? { footer: { text: footer } } : {}),
  };
}

function fieldOf(fact: Fact): APIEmbedField {
  return {
    name: plainWithin(oneLine(fact.label), Limit.fieldName) || '\u200b',
    value: valueText(fact.value) || '\u200b',
    inline: factText(fact, String).length <= 40,
  };
}

function valueText(value: Fact['value']): string {
  if (typeof value === 'string') {
    return plainWithin(value.trim(), Limit.fieldValue, plainWithTimes);
  }
  if ('atMs' in value) return `${timestamp(value.atMs, 'f')} (${timestamp(value.atMs, 'R')})`;
  const text = plainWithin(oneLine(value.text), MAX_FINDING, plainUnlinked);
  const link = isMask(value.text, value.url) ? undefined : hostLink(value.url);
  const linked = link && `[${text || '–'}](<${linkTarget(link.url)}>) (${link.host})`;
  return linked && linked.length <= Limit.fieldValue ? linked : text;
}

function descriptionOf(parts: readonly CardPart[], max: number): string {
  const shown: string[] = [];
  let left = max;
  for (const part of parts) {
    if (part.kind === 'facts') continue;
    const text = renderPart(part, left);
    if (text === '') continue;
    shown.push(text);
    left -= text.length + 1;
    if (left < MIN_PART) break;
  }
  return shown.join('\n');
}

function renderPart(part: Exclude<CardPart, { kind: 'facts' }>, max: number): string {
  if (part.kind === 'text') return plainWithin(part.text, max, plainWithTimes);
  if (part.kind === 'chart') return plainWithin(chartText(part), max);
  if (part.kind === 'table') return renderTable(part, max);
  if (part.kind === 'findings') return renderFindings(part, max);
  return codeBlock(within(withoutFences(part.text), max - codeBlock('').length));
}

/** A table in a fixed-width font, columns aligned; rows that do not fit are counted. */
function renderTable({ columns, rows }: CardPart & { kind: 'table' }, max: number): string {
  const cells = [columns, ...rows].map((row) => row.map(cell));
  const widths = columns.map((_, column) =>
    Math.max(...cells.map((row) => characters(row[column] ?? ''))),
  );
  const lines = cells.map((row) =>
    row
      .map((text, column) => text + ' '.repeat((widths[column] ?? 0) - characters(text)))
      .join('  ')
      .trimEnd(),
  );
  return codeBlock(linesWithin(lines, max - codeBlock('').length));
}

function renderFindings({ heading, items }: FindingsPart, max: number): string {
  const title = heading ? `**${plainWithin(oneLine(heading), Limit.title)}**` : undefined;
  return linesWithin(compact(title, ...items.map(findingLine)), max);
}

function findingLine({ atMs, text, url }: FindingItem): string {
  const link = hostLink(url);
  return compact(
    '•',
    atMs !== undefined && timestamp(atMs, 'f'),
    plainWithin(oneLine(text), MAX_FINDING, (words) => withTimes(plainUnlinked(words))),
    link && `[${link.host}](<${linkTarget(link.url)}>)`,
  ).join(' ');
}

/** The lines that fit, and how many more there are. */
function linesWithin(lines: readonly string[], max: number): string {
  const more = (count: number) => `… and ${count} more`;
  let length = more(lines.length).length;
  const fitting = lines.filter((line) => {
    length += line.length + 1;
    return length <= max;
  });
  const missing = lines.length - fitting.length;
  return [...fitting, ...(missing > 0 ? [more(missing)] : [])].join('\n');
}

const cell = (text: string) => within(oneLine(withoutMentions(withoutFences(text))), MAX_CELL);

const characters = (text: string) => [...text].length;

/** Three backticks would end the block; a character of no width between them changes nothing one sees. */
const withoutFences = (text: string) => text.replace(/`(?=`)/g, '`\u200b');

const codeBlock = (text: string) => `\`\`\`\n${text}\n\`\`\``;
