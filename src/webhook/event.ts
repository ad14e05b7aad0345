import { type AlertData, type Card, factText, findingsText } from '../bot/shared/card.ts';
import { shortened } from '../bot/shared/text-format.ts';

/** The body of a post, `version` 1: fields are only added. docs/alerts-elsewhere.md describes it. */
export interface WebhookEvent {
  version: 1;
  event: 'opened' | 'updated' | 'acknowledged' | 'resolved' | 'reminder' | 'notice';
  state?: AlertData['state'];
  /** Equal in all posts about one alert. */
  id: string;
  /** Grows with every change of the alert. */
  sequence: number;
  /** ISO 8601, like all times. */
  at: string;
  severity: 'critical' | 'warning' | 'info';
  title: string;
  text: string;
  facts: Array<{ label: string; value: string }>;
  monitors: AlertData['monitors'];
  moreMonitors: number;
  url?: string;
}

const MAX_TITLE = 300;
const MAX_TEXT = 4000;
const MAX_FACTS = 40;

const SEVERITIES = { bad: 'critical', warning: 'warning', good: 'info', info: 'info' } as const;

/** `id` is the one of the first post; its part after @ is the place. Pure. */
export function eventOf(
  card: Card,
  event: WebhookEvent['event'],
  { id, nowMs }: { id: string; nowMs: number },
): WebhookEvent {
  const { alert, link } = card;
  const facts = card.parts.flatMap((part) => (part.kind === 'facts' ? part.facts : []));
  return {
    version: 1,
    event,
    ...(alert && { state: alert.state }),
    id: id.split('@', 1)[0] ?? id,
    sequence: alert?.sequence ?? nowMs,
    at: iso(nowMs),
    severity: SEVERITIES[card.tone],
    title: shortened(card.title, MAX_TITLE),
    text: shortened(textOf(card), MAX_TEXT),
    facts: facts.slice(0, MAX_FACTS).map((fact) => ({
      label: shortened(fact.label, 100),
      value: shortened(factText(fact, iso), 500),
    })),
    monitors: alert?.monitors ?? [],
    moreMonitors: alert?.moreMonitors ?? 0,
    ...(link && { url: link.url }),
  };
}

/** Everything under the title, without the buttons and the footer of a chat. */
function textOf({ parts }: Card): string {
  const lines = parts.flatMap((part) => {
    if (part.kind === 'facts')
      return part.facts.map((fact) => `${fact.label}: ${factText(fact, iso)}`);
    if (part.kind === 'table') return [part.columns, ...part.rows].map((row) => row.join(' | '));
    if (part.kind === 'findings') return [findingsText(part, iso)];
    return [part.text];
  });
  return lines.join('\n');
}

const iso = (ms: number) => new Date(ms).toISOString();
