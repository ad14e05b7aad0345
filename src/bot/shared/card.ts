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
   * A role or user group that is called when the card is posted, by the platform's own id. The one thing in a card that
   * pings: it comes from the settings of a channel, never from a text.
   */
  mention?: string;
  /** What it tells is not over. A platform shows nothing of it, but knows it of a message that it finds again. */
  goesOn?: boolean;
}

/** A button. A press of it is an invocation of the command with these values, by whoever pressed, whenever that is. */
export interface CardAction {
  label: string;
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
  /** Says the same where no chart can be shown. */
  text: string;
}
