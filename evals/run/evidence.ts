import type { Card } from '../../src/bot/shared/card.ts';
import type { Monitor } from '../../src/contracts/monitoring.ts';
import type { Week } from '../world/week.ts';
import type { Used } from './recorded-gateway.ts';

/** A tool that was called for an answer. */
export interface Call {
  tool: string;
  /** The arguments; a text if they aren't JSON. */
  input: unknown;
  /** The result as JSON; undefined if rules answered. */
  result: string | undefined;
}

/** Everything about one try at a question that grading needs. */
export interface Evidence {
  question: string;
  /** Markdown, as it was sent to the channel. */
  text: string;
  /** Why the answer ended early. */
  note: string | undefined;
  /** The model that answered, or the rules. */
  by: string;
  calls: readonly Call[];
  cards: readonly Card[];
  /** Changes sent to the service before a card was confirmed. */
  changedBefore: readonly string[];
  /** Cards after their confirmation. */
  confirmed: readonly Card[];
  /** Monitors as they were, and as they are after what was confirmed. */
  before: readonly Monitor[];
  after: readonly Monitor[];
  /** The service, for what else is to be asked of it. */
  week: Pick<Week, 'show'>;
  used: Used;
  /** From the question to the end of the answer. */
  tookMs: number;
}
