/** What a card can be, and the sign that stands before its title. */
export const TONES = { good: '🟢', bad: '🔴', warning: '🟡', info: '🔵' } as const;

/**
 * A message of Askwatch's own, in no platform's words. All text is plain text: a platform escapes every character that
 * means something to it, so nothing in a name, target or error can ping, link or format.
 */
export interface Card {
  tone: keyof typeof TONES;
  title: string;
  parts: CardPart[];
  footer?: string;
  /** Buttons under it, at most five. */
  actions?: CardAction[];
  /** An address to open, `http:` or `https:` only; shown as one more button. */
  link?: { label: string; url: string };
  /**
   * A role or user group that is called when the card is posted, by the platform's own id, or a person, with @ before that.
   * The one thing in a card that pings: it comes from the settings of a channel, never from a text.
   */
  mention?: string;
  /** What it tells is not over. A platform shows nothing of it, but knows it of a message that it finds again. */
  goesOn?: boolean;
}

/** A button. A press of it is an invocation of the command with these values, by whoever pressed, whenever that is. */
export interface CardAction {
  label: string;
  /** The one button that most people press is primary; one that deletes something for good is danger. */
  style?: 'primary' | 'danger';
  command: string;
  values: Record<string, string>;
}

export type CardPart =
  | { kind: 'text'; text: string }
  | { kind: 'facts'; facts: Fact[] }
  | { kind: 'table'; columns: string[]; rows: string[][] }
  /** Something to type or copy, shown as it is in a fixed-width font. */
  | { kind: 'code'; text: string }
  | Chart;

export interface Fact {
  label: string;
  /** A moment is shown in the reader's own time zone where the platform can. */
  value: string | { atMs: number };
}

/** A part of nothing but text. */
export const textPart = (text: string) => ({ kind: 'text', text }) as const;

/** A part of labels with what stands behind each. */
export const factsPart = (...facts: Fact[]) => ({ kind: 'facts', facts }) satisfies CardPart;

/** A part of rows under the names of their columns. */
export const tablePart = (columns: string[], rows: string[][]) =>
  ({ kind: 'table', columns, rows }) satisfies CardPart;

/** A card of nothing but a title and texts. */
export const textCard = (tone: Card['tone'], title: string, ...texts: string[]): Card => ({
  tone,
  title,
  parts: texts.map(textPart),
});

/** Values over time, oldest first, such as the response times of a day. */
export interface Chart {
  kind: 'chart';
  title: string;
  /** What the values are in, such as `ms`. */
  unit: string;
  /**
   * Each is of the `stepMs` from its time on, and the next follows there; none is below 0. Null is a gap: nothing was
   * measured.
   */
  points: { atMs: number; value: number | null }[];
  stepMs: number;
  /** Times in which it was down, within that of the points, in order and apart from each other. */
  outages: { fromMs: number; toMs: number }[];
  /** By whose clocks it is read, as IANA names the zone; then a step of a day is as long as that day was there. */
  zone?: string;
  /** Says the same where no chart can be shown. */
  text: string;
}

/** What a button may carry: the shortest room of the platforms. Source: Discord docs, "Component Reference", `custom_id`. */
const MAX_LENGTH = 100;

const textOf = ({ command, values }: Pick<CardAction, 'command' | 'values'>) =>
  `${command}?${new URLSearchParams(values)}`;

/** Whether a button can carry it: ids of another service may be long. */
export const isCarried = (action: Pick<CardAction, 'command' | 'values'>) =>
  textOf(action).length <= MAX_LENGTH;

/** A button's state as one text: `incident acknowledge?incident=…`. It is all that is needed after a restart. */
export function encodeAction(action: CardAction): string {
  const text = textOf(action);
  if (text.length > MAX_LENGTH) throw new RangeError(`“${text}” is too long for a button.`);
  return text;
}

/** The answer that a button is about, and whether it is the one that stops it; undefined for any other button. Pure. */
export function answerOfButton(text: string): { answer: string; stops: boolean } | undefined {
  const action = decodeAction(text);
  const answer = action?.values.answer;
  return answer === undefined ? undefined : { answer, stops: action?.command === 'answer stop' };
}

/** How a button rates an answer, for platforms that have buttons of their own for that; undefined for any other. Pure. */
export function ratingOfButton({ command, values }: CardAction): 'good' | 'bad' | undefined {
  if (command !== 'answer rate') return undefined;
  return values.as === 'good' || values.as === 'bad' ? values.as : undefined;
}

/** What a press of a button asks for; it comes from outside, so it is checked like anything that is said. */
export function decodeAction(
  text: string,
): { command: string; values: Record<string, string> } | undefined {
  const [command = '', query, ...rest] = text.split('?');
  if (command === '' || query === undefined || rest.length > 0 || text.length > MAX_LENGTH) {
    return undefined;
  }
  return { command, values: Object.fromEntries(new URLSearchParams(query)) };
}

/** Buttons under one card. Source: Discord docs, "Component Reference": five in a row. */
const MAX_BUTTONS = 5;

/** Longest address of a button. Source: the same page, field `url`; Slack takes 3,000. */
const MAX_ADDRESS = 512;

/**
 * The link of a card as it may be shown: last among the buttons, only where there is room for it, and only to the web.
 * The address is the one that a browser makes of it.
 */
export function linkOf({ link, actions = [] }: Pick<Card, 'link' | 'actions'>): Card['link'] {
  if (!link || actions.length >= MAX_BUTTONS || !URL.canParse(link.url)) return undefined;
  const { protocol, href } = new URL(link.url);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  return isWeb && href.length <= MAX_ADDRESS ? { label: link.label, url: href } : undefined;
}

/** What a chart says where it cannot be shown. */
export const chartText = ({ title, text }: Chart) => `${title}: ${text}`;

/** The card with the text of each chart in its place; for where no charts are shown, or `which` is not. Pure. */
export function withoutCharts(card: Card, which: (chart: Chart) => boolean = () => true): Card {
  return {
    ...card,
    parts: card.parts.map((part) =>
      part.kind === 'chart' && which(part) ? { kind: 'text', text: chartText(part) } : part,
    ),
  };
}

/** Whether there is anything in the card that some place may not show. */
export const hasChart = ({ parts }: Card) => parts.some(({ kind }) => kind === 'chart');
