import { oneLine } from '../../contracts/one-line.ts';
import { HIDDEN } from '../../contracts/secret-values.ts';
import {
  createFacts,
  createLinks,
  firstOf,
  holdsSecret,
  isRecord,
  keyOf,
  keyOfLabels,
  lineOf,
  nameOf,
  PayloadError,
  type PayloadReading,
  readAlerts,
  recordOf,
  severityOf,
  summaryOf,
  timesOf,
  wordOf,
} from './read-payload.ts';
import type { ReportedAlert } from './reported-alert.ts';

/** Labels and annotations that are shown elsewhere. */
const SHOWN_LABELS = new Set(['alertname']);
const SHOWN_ANNOTATIONS = new Set(['runbook_url']);

/** Annotations that say what is wrong, the best first. */
const SUMMARIES = ['summary', 'description', 'message'] as const;

/** A silence needs all labels. More than these aren't stored. */
const MAX_SILENCED_LABELS = 100;
const MAX_SILENCED_LENGTH = 16_384;

/**
 * Reads a delivery of Alertmanager, or of Grafana, which sends more fields. Sources: Alertmanager's `notify/webhook`
 * and `template.Data`, Grafana's `receivers/webhook`. Pure.
 */
export function alertsOfAlertmanager(
  body: Record<string, unknown>,
  { title, nowMs }: { title: string; nowMs: number },
): PayloadReading {
  if (!Array.isArray(body.alerts)) {
    throw new PayloadError(
      'This delivery has no “alerts” list. Send the original body of the webhook, not a custom one.',
    );
  }
  // Texts of the group belong to an alert only if it is the only one.
  const group = body.alerts.length === 1 ? body : {};
  const alerts = readAlerts(body.alerts, (alert, where) => {
    const labels = recordOf(alert.labels);
    const annotations = recordOf(alert.annotations);
    const state = stateOf(alert, body, where);
    const texts = SUMMARIES.map((name) => annotations[name]);
    const name = firstOf(nameOf, labels.alertname, group.title, ...texts) ?? title;
    const summary = firstOf(summaryOf, ...texts, group.message);
    const silenced = silencedLabels(labels);
    return {
      key:
        typeof alert.fingerprint === 'string' && alert.fingerprint !== ''
          ? keyOf(alert.fingerprint)
          : keyOfLabels(labels, where),
      state,
      name,
      summary,
      severity: severityOf(labels.severity ?? labels.priority),
      // A firing alert ends in the year 1, or at the end of a lease. Neither is meaningful.
      ...timesOf(
        { from: alert.startsAt, ...(state === 'resolved' && { to: alert.endsAt }) },
        nowMs,
      ),
      facts: factsOf(alert, summary, body.receiver),
      links: linksOf(alert, title, body.externalURL),
      labels: silenced,
    };
  });
  return { alerts, truncated: truncatedOf(body.truncatedAlerts) };
}

/** An alert's own state counts. A group is firing while one of its alerts is. */
function stateOf(
  alert: Record<string, unknown>,
  body: Record<string, unknown>,
  where: string,
): 'firing' | 'resolved' {
  const given = alert.status ?? body.status ?? body.state;
  const word = wordOf(given);
  if (word === 'firing' || word === 'alerting') return 'firing';
  if (word === 'resolved' || word === 'ok') return 'resolved';
  throw new PayloadError(
    `${where}.status must be firing or resolved, ${given === undefined ? 'but is missing' : `not “${word}”`}.`,
  );
}

function factsOf(
  alert: Record<string, unknown>,
  summary: string | undefined,
  receiver: unknown,
): ReportedAlert['facts'] {
  const annotations = recordOf(alert.annotations);
  const facts = createFacts();
  facts.addAll(recordOf(alert.labels), SHOWN_LABELS);
  const shown = SUMMARIES.find((name) => summaryOf(annotations[name]) === summary);
  facts.addAll(annotations, shown ? new Set([...SHOWN_ANNOTATIONS, shown]) : SHOWN_ANNOTATIONS);
  if (isRecord(alert.values)) facts.addAll(alert.values);
  else facts.add('values', alert.valueString);
  if (typeof receiver === 'string') facts.add('receiver', unquoted(receiver.slice(0, 1_000)));
  return facts.list();
}

function linksOf(
  alert: Record<string, unknown>,
  title: string,
  externalUrl: unknown,
): ReportedAlert['links'] {
  const links = createLinks();
  links.add('Runbook', recordOf(alert.annotations).runbook_url);
  links.add('Panel', alert.panelURL);
  links.add('Dashboard', alert.dashboardURL);
  links.add('Source', alert.generatorURL);
  links.add('Silence', alert.silenceURL);
  links.add(title, externalUrl);
  links.add('Image', alert.imageURL);
  return links.list();
}

/**
 * All labels or none, because a silence of some labels would silence other alerts. Secrets aren't stored: the silence
 * matches any value of their labels.
 */
function silencedLabels(labels: Record<string, unknown>): Record<string, string> | undefined {
  const names = Object.keys(labels);
  if (names.length === 0 || names.length > MAX_SILENCED_LABELS) return undefined;
  let length = 0;
  for (const name of names) {
    const value = labels[name];
    if (typeof value !== 'string') return undefined;
    length += name.length + value.length;
    // Real labels can be stored.
    if (length > MAX_SILENCED_LENGTH || !isStorable(name) || !isStorable(value)) return undefined;
  }
  const kept = names.map((name) => {
    const value = labels[name] as string;
    return [name, holdsSecret(name, value) ? HIDDEN : value] as const;
  });
  return kept.some(([, value]) => value !== HIDDEN) ? Object.fromEntries(kept) : undefined;
}

const isStorable = (text: string) =>
  !/\p{Cs}/u.test(text) && !text.includes('\0') && text !== '__proto__';

/** The receiver's name is quoted as a pattern: `web\.hook`. Source: `notify.go`, `regexp.QuoteMeta`. */
const unquoted = (receiver: string) => oneLine(receiver.replace(/\\([\\.+*?()|[\]{}^$])/g, '$1'));

function truncatedOf(value: unknown): number {
  const count = Number(lineOf(value, 20) ?? 0);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}
