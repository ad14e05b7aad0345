import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import { oneLine } from '../../contracts/one-line.ts';
import { maskedText } from '../../contracts/secret-values.ts';
import type { Conversations } from '../ask/conversations.ts';
import type { ThreadIncident } from '../incidents/incident-service.ts';
import type { Note, Watching } from '../incidents/watch-state.ts';
import type { Place } from '../shared/place.ts';
import { shortened } from '../shared/text-format.ts';
import { pageOf } from '../tools/monitors.ts';

/** One fact from a look-up, on one line. Its words come from outside. */
export interface FoundFact {
  /** `F1`, for a model to name it. */
  id: string;
  text: string;
  /** When it happened, or when it was true. */
  atMs?: number;
  url?: string;
}

export type UnnumberedFact = Omit<FoundFact, 'id'>;

export interface LookUpOptions {
  monitoring: MonitoringClient;
  conversations: Pick<Conversations, 'turns'>;
  watching: Pick<Watching, 'alerts' | 'reported'> | undefined;
  /** The channel of the alert. Nothing of another channel is looked up. */
  place: Place;
  /** Address of the console, if it has pages. */
  pagesUrl?: string;
  nowMs: number;
  signal: AbortSignal;
}

/** An incident and what the service lists, for facts about it. */
export interface LookUpSubject extends LookUpOptions {
  found: ThreadIncident;
  /** Start of the first outage. */
  startedAtMs: number;
  monitors: readonly Monitor[];
}

const MAX_TEXT = 300;
const MAX_NOTES = 5;

export const shownName = (one: { name: string }) => outside(one.name, 100);

/** `: connection refused`; empty without a reason. */
export const because = (reason: string | undefined) => (reason ? `: ${outside(reason)}` : '');

export const noteFacts = (notes: readonly Note[], when = ''): UnnumberedFact[] =>
  notes.slice(-MAX_NOTES).map(({ by, text, atMs }) => ({
    text: `Note by ${outside(by, 80)}${when}: ${outside(text)}`,
    atMs,
  }));

export const urlOf = (id: string, pagesUrl: string | undefined) =>
  pagesUrl === undefined ? undefined : `${pagesUrl}${pageOf({ id })}`;

/** Text from outside on one line, without secrets in its addresses. */
export const outside = (text: string, max = MAX_TEXT) =>
  shortened(oneLine(maskedText(text.slice(0, 2 * max))), max);
