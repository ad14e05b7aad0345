import { TimeoutError } from '../../clients/errors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import { listTitle, listTone } from '../commands/monitor/list.ts';
import { isOpen } from '../incidents/incidents.ts';
import type { Alert, Incident } from '../incidents/watch-state.ts';
import { type Card, type CardPart, factsPart, textCard, textPart } from '../shared/card.ts';
import { explainOutage } from '../shared/explain-error.ts';
import { isDown } from '../shared/status.ts';
import { shownTarget } from '../shared/target-link.ts';
import { counted, shortened } from '../shared/text-format.ts';

/** Monitors that are DOWN and shown one by one. */
const MAX_SHOWN = 20;
/** A home waits no longer for the service. */
const ASK_MS = 5_000;
/** Many people may open their homes at one moment: they are shown the same poll. */
const KEEP_MS = 5_000;

/** The monitors as they are now, or were some seconds ago. Throws like the client. */
export function createMonitorsNow(
  monitoring: Pick<MonitoringClient, 'list'>,
  nowMs: () => number,
): () => Promise<Monitor[]> {
  let poll: { monitors: Promise<Monitor[]>; atMs: number } | undefined;

  async function ask(): Promise<Monitor[]> {
    const signal = AbortSignal.timeout(ASK_MS);
    try {
      return await monitoring.list({ signal });
    } catch (error) {
      poll = undefined;
      if (!signal.aborted) throw error;
      throw new TimeoutError(`The list did not come within ${ASK_MS / 1000} s.`, { cause: error });
    }
  }

  return async () => {
    if (!poll || nowMs() - poll.atMs >= KEEP_MS) poll = { monitors: ask(), atMs: nowMs() };
    return await poll.monitors;
  };
}

/** What is DOWN, the newest outage first, since when and why; `alerts` know what the service does not tell. Pure. */
export function nowCard(monitors: readonly Monitor[], alerts: readonly Alert[] = []): Card {
  if (monitors.length === 0) return { tone: 'info', title: 'No monitors yet', parts: [] };
  const open = new Map(alerts.filter(isOpen).map((incident) => [incident.monitorId, incident]));
  const down = monitors
    .filter(isDown)
    .map((monitor) => ({ monitor, ...outageOf(monitor, open.get(monitor.id)) }))
    .sort((a, b) => (b.sinceMs ?? 0) - (a.sinceMs ?? 0));
  const more = down.length - MAX_SHOWN;
  return {
    tone: listTone(monitors),
    title: listTitle(monitors),
    parts: [
      ...down.slice(0, MAX_SHOWN).map(outagePart),
      ...(more > 0
        ? [textPart(`${counted(more, 'other')} DOWN: /monitor list down shows all.`)]
        : []),
    ],
  };
}

/** Says that nobody knows what is DOWN; `undefined` when the error is not about the service. Pure. */
export function unseenCard(error: unknown): Card | undefined {
  const why = explainOutage(error, 'monitoring service');
  if (why === undefined) return undefined;
  return textCard('warning', 'What is down now cannot be seen', why);
}

interface Outage {
  sinceMs: number | undefined;
  cause: string | undefined;
}

function outageOf({ status_changed_at, status_reason }: Monitor, known?: Incident): Outage {
  const saidMs = status_changed_at === undefined ? Number.NaN : Date.parse(status_changed_at);
  const sinceMs = Number.isNaN(saidMs) ? known?.startedAtMs : saidMs;
  return { sinceMs, cause: status_reason ?? known?.reason };
}

function outagePart({ monitor, sinceMs, cause }: Outage & { monitor: Monitor }): CardPart {
  const { name, target } = monitor;
  return factsPart(
    { label: shortened(name || target, 60), value: shortened(shownTarget(target), 80) },
    ...(sinceMs === undefined ? [] : [{ label: 'DOWN since', value: { atMs: sinceMs } }]),
    ...(cause === undefined ? [] : [{ label: 'Cause', value: shortened(cause, 200) }]),
  );
}
