import { CHART_LIMITS, type ChartBlock, chartsIn, chartWords, isChartRight } from './chart.ts';

/**
 * Slack's checks of a message. Each returns Slack's error code, or nothing.
 * Sources: Slack docs, reference pages of chat.postMessage, chat.update and of each block; the size of all blocks
 * together (about 13,200 characters) was reported in slackapi/bolt-js issue 2509.
 */

interface Block {
  type?: unknown;
  [field: string]: unknown;
}

const KNOWN_BLOCKS = [
  'actions',
  'context_actions',
  'header',
  'section',
  'context',
  'divider',
  'markdown',
  'rich_text',
  'table',
  'data_visualization',
];
const RICH_PARTS = [
  'rich_text_section',
  'rich_text_preformatted',
  'rich_text_quote',
  'rich_text_list',
];

export const LIMITS = {
  postedText: 40_000,
  editedText: 4_000,
  blocks: 50,
  header: 150,
  section: 3_000,
  context: 10,
  contextText: 2_000,
  actions: 25,
  contextActions: 5,
  buttonText: 75,
  buttonValue: 2_000,
  buttonUrl: 3_000,
  actionId: 255,
  markdown: 12_000,
  tableRows: 100,
  tableColumns: 20,
  allBlocks: 13_200,
} as const;

/** Checks a list of blocks as Slack does; the code of the first thing wrong with it. */
export function blocksProblem(blocks: unknown): string | undefined {
  if (!Array.isArray(blocks) || blocks.length > LIMITS.blocks) return 'invalid_blocks';
  const list = blocks as Block[];
  if (!list.every((block) => isBlockRight(block))) return 'invalid_blocks';
  const markdown = list.filter(({ type }) => type === 'markdown');
  if (sum(markdown.map(({ text }) => String(text).length)) > LIMITS.markdown) {
    return 'msg_blocks_too_long';
  }
  if (list.filter(({ type }) => type === 'table').length > 1) return 'invalid_attachments';
  if (chartsIn(list).length > CHART_LIMITS.perMessage) return 'invalid_blocks';
  if (sum(list.map(textSize)) > LIMITS.allBlocks) return 'msg_blocks_too_long';
  return undefined;
}

function isBlockRight(block: Block): boolean {
  if (typeof block !== 'object' || block === null) return false;
  if (!KNOWN_BLOCKS.includes(String(block.type))) return false;
  switch (block.type) {
    case 'header':
      return isText(block.text, LIMITS.header, ['plain_text']);
    case 'section': {
      const fields = block.fields;
      const fieldsRight =
        fields === undefined ||
        (Array.isArray(fields) &&
          fields.length <= 10 &&
          fields.every((field) => isText(field, 2_000)));
      return fieldsRight && (block.text === undefined || isText(block.text, LIMITS.section));
    }
    case 'context':
      return isList(block.elements, LIMITS.context, (element) =>
        isText(element, LIMITS.contextText),
      );
    case 'actions':
      return isList(block.elements, LIMITS.actions, isButton) && areIdsUnique(block.elements);
    case 'context_actions':
      return (
        isList(block.elements, LIMITS.contextActions, isFeedbackButtons) &&
        areIdsUnique(block.elements)
      );
    case 'markdown':
      return typeof block.text === 'string' && block.text !== '';
    case 'rich_text':
      return isList(block.elements, 1_000, isRichPart);
    case 'table':
      return isList(block.rows, LIMITS.tableRows, (row) =>
        isList(row, LIMITS.tableColumns, (cell) => isCell(cell)),
      );
    case 'data_visualization':
      return isChartRight(block as ChartBlock);
    default:
      return true;
  }
}

function isButton(element: unknown): boolean {
  const { type, text, value, url, action_id } = fieldsOf(element);
  return (
    type === 'button' &&
    isText(text, LIMITS.buttonText, ['plain_text']) &&
    (value === undefined || isFilled(value, LIMITS.buttonValue)) &&
    (url === undefined || (isFilled(url, LIMITS.buttonUrl) && URL.canParse(String(url)))) &&
    isFilled(action_id, LIMITS.actionId)
  );
}

/** Source: Slack docs, "Feedback buttons element"; of the elements of its block this fake knows no other. */
function isFeedbackButtons(element: unknown): boolean {
  const { type, action_id, positive_button, negative_button } = fieldsOf(element);
  const isRight = (button: unknown) => {
    const { text, value, accessibility_label: label } = fieldsOf(button);
    return (
      isText(text, LIMITS.buttonText, ['plain_text']) &&
      isFilled(value, LIMITS.buttonValue) &&
      (label === undefined || isFilled(label, LIMITS.buttonText))
    );
  };
  return (
    type === 'feedback_buttons' &&
    isFilled(action_id, LIMITS.actionId) &&
    isRight(positive_button) &&
    isRight(negative_button)
  );
}

function areIdsUnique(elements: unknown): boolean {
  const ids = (elements as { action_id: string }[]).map(({ action_id }) => action_id);
  return new Set(ids).size === ids.length;
}

const isFilled = (value: unknown, max: number) =>
  typeof value === 'string' && value !== '' && value.length <= max;

function isRichPart(part: unknown): boolean {
  const { type, elements, style } = fieldsOf(part);
  if (type === 'rich_text_list') {
    const isSection = (item: unknown) => fieldsOf(item).type === 'rich_text_section';
    const isItem = (item: unknown) => isSection(item) && isRichPart(item);
    return ['bullet', 'ordered'].includes(String(style)) && isList(elements, 1_000, isItem);
  }
  return RICH_PARTS.includes(String(type)) && isList(elements, 1_000, isRichElement);
}

function isRichElement(element: unknown): boolean {
  const { type, text, url, timestamp, format } = fieldsOf(element);
  const { usergroup_id, channel_id, user_id } = fieldsOf(element);
  if (type === 'text') return typeof text === 'string' && text !== '';
  if (type === 'date') return Number.isInteger(timestamp) && typeof format === 'string';
  if (type === 'channel') return /^[CG][A-Z0-9]+$/.test(String(channel_id));
  if (type === 'usergroup') return /^S[A-Z0-9]+$/.test(String(usergroup_id));
  if (type === 'user') return /^[UW][A-Z0-9]+$/.test(String(user_id));
  if (type === 'link') {
    const isTextRight = text === undefined || (typeof text === 'string' && text !== '');
    return isTextRight && isFilled(url, LIMITS.buttonUrl) && URL.canParse(String(url));
  }
  return type === 'emoji';
}

function isCell(cell: unknown): boolean {
  const { type, text } = fieldsOf(cell);
  return type === 'raw_text' ? typeof text === 'string' && text !== '' : type === 'rich_text';
}

function isText(value: unknown, max: number, types = ['plain_text', 'mrkdwn']): boolean {
  const { type, text } = (value ?? {}) as { type?: string; text?: unknown };
  return (
    types.includes(String(type)) && typeof text === 'string' && text !== '' && text.length <= max
  );
}

function isList(value: unknown, max: number, check: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.length <= max && value.every(check);
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

/** Every text a block shows, added up. */
function textSize(value: unknown): number {
  if (Array.isArray(value)) return sum(value.map(textSize));
  if (typeof value !== 'object' || value === null) return 0;
  return sum(
    Object.entries(value).map(([key, inner]) =>
      key === 'text' && typeof inner === 'string' ? inner.length : textSize(inner),
    ),
  );
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

/** User groups and people that a new message notifies. An edit notifies nobody. */
export function calledBy(message: { text: string; blocks?: unknown }): string[] {
  const inText = [...message.text.matchAll(/<[!@](?:subteam\^)?(\w+)[^>]*>/g)].map(
    ([, id = '']) => id,
  );
  return [...new Set([...inText, ...calledIn(message.blocks)])];
}

function calledIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(calledIn);
  if (typeof value !== 'object' || value === null) return [];
  const { usergroup_id, user_id, range } = value as Record<string, unknown>;
  const here = [usergroup_id, user_id, range].filter((id) => typeof id === 'string');
  return [...here, ...Object.values(value).flatMap(calledIn)];
}

/** Everything a message shows, as one text: what its blocks hold, else its text. */
export function shownText(message: { text: string; blocks?: unknown }): string {
  const texts = textsOf(message.blocks);
  return texts.length > 0 ? texts.join('\n') : message.text;
}

function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  const entry = value as Record<
    'type' | 'fallback' | 'usergroup_id' | 'channel_id' | 'user_id',
    string | undefined
  > & { elements?: unknown };
  if (entry.type === 'date') return [entry.fallback ?? ''];
  if (entry.type === 'channel') return [`#${entry.channel_id}`];
  if (entry.type === 'data_visualization') return chartWords(value);
  if (entry.type === 'usergroup') return [`@${entry.usergroup_id}`];
  if (entry.type === 'user') return [`@${entry.user_id}`];
  if (entry.type === 'rich_text_section' || entry.type === 'rich_text_quote') {
    return [textsOf(entry.elements).join('')];
  }
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'text' && typeof inner === 'string' ? [inner] : textsOf(inner),
  );
}
