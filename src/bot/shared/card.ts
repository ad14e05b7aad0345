/** Signs before titles. */
export const TONES = { good: '🟢', bad: '🔴', warning: '🟡', info: '🔵' } as const;

/**
 * A message for any platform. All text is plain text: platforms escape every character that means something to them, so
 * nothing in a name, target or error can ping, link or format.
 */
export interface Card {
  tone: keyof typeof TONES;
  title: string;
  parts: CardPart[];
  footer?: string;
  /** At most five. */
  actions?: CardAction[];
  /** One more button, which opens an `http:` or `https:` address. */
  link?: { label: string; url: string };
  /**
   * Id of a role or user group that is mentioned when the card is posted, or @ and the id of a person. Nothing else in a card
   * pings: it comes from a channel's settings, never from a text.
   */
  mention?: string;
  /** The incident is ongoing. Platforms don't show it, but store it with the message. */
  goesOn?: boolean;
  /** The alert as data, for programs. Platforms for people don't need it. */
  alert?: AlertData;
}

/** An alert as data, with times in ISO 8601 and no fact that the card doesn't show. */
export interface AlertData {
  /** Grows with every change of the alert. */
  sequence: number;
  state: 'open' | 'acknowledged' | 'resolved';
  /** The first ones; `moreMonitors` counts the rest. */
  monitors: ReadonlyArray<{
    id: string;
    name: string;
    target?: string;
    status: string;
    since: string;
    until?: string;
    cause?: string;
  }>;
  moreMonitors: number;
}

/** A button. A press invokes the command with these values, even after a restart. */
export interface CardAction {
  label: string;
  /** `danger` deletes something for good. */
  style?: 'primary' | 'danger';
  command: string;
  values: Record<string, string>;
}

export type CardPart =
  | { kind: 'text'; text: string }
  | { kind: 'facts'; facts: Fact[] }
  | { kind: 'table'; columns: string[]; rows: string[][] }
  /** Text to type or copy, in a fixed-width font. */
  | { kind: 'code'; text: string }
  | FindingsPart
  | Chart;

export interface Fact {
  label: string;
  /** A moment is shown in the reader's time zone if the platform can, a link to the web with its host. */
  value: string | { atMs: number } | { text: string; url: string };
}

/** A bulleted list. */
export interface FindingsPart {
  kind: 'findings';
  heading?: string;
  items: FindingItem[];
}

export interface FindingItem {
  /** Shown first, in the reader's time zone if the platform can. */
  atMs?: number;
  text: string;
  /** Shown as its host, so that the text can't disguise where it leads; left out unless it leads to the web. */
  url?: string;
}

export const textPart = (text: string) => ({ kind: 'text', text }) as const;

export const codePart = (text: string) => ({ kind: 'code', text }) as const;

/** Drops facts that are false or undefined. */
export const factsPart = (...facts: Array<Fact | false | undefined>) =>
  ({ kind: 'facts', facts: compact(...facts) }) satisfies CardPart;

/** Drops items that are false or undefined. */
export const compact = <T>(...items: Array<T | false | undefined>): T[] =>
  items.filter((item): item is T => item !== false && item !== undefined);

export const tablePart = (columns: string[], rows: string[][]) =>
  ({ kind: 'table', columns, rows }) satisfies CardPart;

export const textCard = (tone: Card['tone'], title: string, ...texts: string[]): Card => ({
  tone,
  title,
  parts: texts.map(textPart),
});

/** Values over time, oldest first. */
export interface Chart {
  kind: 'chart';
  title: string;
  /** Unit of the values, such as `ms`. */
  unit: string;
  /** Each covers `stepMs` from its time on. Values are at least 0; null is a time without measurements. */
  points: { atMs: number; value: number | null }[];
  stepMs: number;
  /** Within the time of the points, in order, without overlaps. */
  outages: { fromMs: number; toMs: number }[];
  /** IANA time zone of the marks; a step of a day is then as long as that day was there. */
  zone?: string;
  /** Replaces the chart where none can be shown. */
  text: string;
}

/** Characters of a button's state. Source: Discord docs, "Component Reference", `custom_id`. */
const MAX_LENGTH = 100;

const textOf = ({ command, values }: Pick<CardAction, 'command' | 'values'>) =>
  `${command}?${new URLSearchParams(values)}`;

/** False if the values don't fit into a button: ids from another service may be long. */
export const isCarried = (action: Pick<CardAction, 'command' | 'values'>) =>
  textOf(action).length <= MAX_LENGTH;

/** The actions that fit into buttons. */
export const fittingActions = (...actions: CardAction[]) => actions.filter(isCarried);

/** A button's state as one text: `incident acknowledge?incident=…`. */
export function encodeAction(action: CardAction): string {
  const text = textOf(action);
  if (text.length > MAX_LENGTH) throw new RangeError(`“${text}” is too long for a button.`);
  return text;
}

/** The answer that a button belongs to. Pure. */
export function answerOfButton(text: string): { answer: string; stops: boolean } | undefined {
  const action = decodeAction(text);
  const answer = action?.values.answer;
  return answer === undefined ? undefined : { answer, stops: action?.command === 'answer stop' };
}

/** The rating that a button gives, for platforms with rating buttons of their own. Pure. */
export function ratingOfButton({ command, values }: CardAction): 'good' | 'bad' | undefined {
  if (command !== 'answer rate') return undefined;
  return values.as === 'good' || values.as === 'bad' ? values.as : undefined;
}

/** The invocation of a pressed button. It comes from outside, so its values are checked like typed ones. */
export function decodeAction(
  text: string,
): { command: string; values: Record<string, string> } | undefined {
  const [command = '', query, ...rest] = text.split('?');
  if (command === '' || query === undefined || rest.length > 0 || text.length > MAX_LENGTH) {
    return undefined;
  }
  return { command, values: Object.fromEntries(new URLSearchParams(query)) };
}

/** Source: Discord docs, "Component Reference": five buttons in a row. */
const MAX_BUTTONS = 5;

/** Source: the same page, field `url`; Slack takes 3,000. */
const MAX_ADDRESS = 512;

/** The card's link if it leads to the web and there is room for one more button. Its address is normalized like in a browser. */
export function linkOf({ link, actions = [] }: Pick<Card, 'link' | 'actions'>): Card['link'] {
  if (!link || actions.length >= MAX_BUTTONS || !URL.canParse(link.url)) return undefined;
  const { protocol, href } = new URL(link.url);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  return isWeb && href.length <= MAX_ADDRESS ? { label: link.label, url: href } : undefined;
}

/** A link to the web with its host as its words; `undefined` if there is none, or if it holds a name or password. */
export function hostLink(address = ''): { host: string; url: string } | undefined {
  const url = linkOf({ link: { label: '', url: address } })?.url;
  if (url === undefined) return undefined;
  const { host, username, password } = new URL(url);
  return username + password === '' ? { host, url } : undefined;
}

/** A fact's value as plain text. */
export function factText({ value }: Fact, timeText: (atMs: number) => string): string {
  if (typeof value === 'string') return value;
  if ('atMs' in value) return timeText(value.atMs);
  const url = hostLink(value.url)?.url;
  return !url || url === value.text ? value.text : `${value.text} (${url})`;
}

/** Findings as plain text, one a line. */
export function findingsText(
  { heading, items }: FindingsPart,
  timeText: (atMs: number) => string,
): string {
  const lines = items.map(({ atMs, text, url }) => {
    const link = hostLink(url)?.url;
    return compact('•', atMs !== undefined && timeText(atMs), text, link && `(${link})`).join(' ');
  });
  return compact(heading, ...lines).join('\n');
}

export const chartText = ({ title, text }: Chart) => `${title}: ${text}`;

/** The card with charts replaced by their texts. Pure. */
export function withoutCharts(card: Card, which: (chart: Chart) => boolean = () => true): Card {
  return {
    ...card,
    parts: card.parts.map((part) =>
      part.kind === 'chart' && which(part) ? { kind: 'text', text: chartText(part) } : part,
    ),
  };
}

export const hasChart = ({ parts }: Card) => parts.some(({ kind }) => kind === 'chart');
