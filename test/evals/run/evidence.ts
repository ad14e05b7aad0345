import type { Card } from '../../../src/bot/shared/card.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import type { Week } from '../world/week.ts';
import type { Used } from './recorded-gateway.ts';

/** A tool that was called for an answer. */
export interface Call {
  tool: string;
  /** As it was called: a text where that is no JSON. */
  input: unknown;
  /** What it gave, as JSON; undefined where that is not known, since rules were asked. */
  result: string | undefined;
}

/** All that there is of one try at a question, for whoever grades it. */
export interface Evidence {
  question: string;
  /** Markdown, as it was sent to the channel. */
  text: string;
  /** Why the answer ended early. */
  note: string | undefined;
  /** What answered: a model, or the rules. */
  by: string;
  calls: readonly Call[];
  cards: readonly Card[];
  /** What was sent to the service that changes something, before anybody confirmed a card. */
  changedBefore: readonly string[];
  /** What became of each card that was confirmed. */
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
