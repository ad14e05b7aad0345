import { alertCard } from '../../../src/bot/alerts/alert-card.ts';
import type { ChannelSettings } from '../../../src/bot/channels/channel-settings.ts';
import { createIncidents } from '../../../src/bot/incidents/incident-service.ts';
import { incidentsIn, type Watching } from '../../../src/bot/incidents/watch-state.ts';
import { applyReported, type IntakeDelivery } from '../../../src/bot/intake/apply-reported.ts';
import type { ReportedAlert } from '../../../src/bot/intake/reported-alert.ts';
import { withUpkeep } from '../../../src/bot/intake/reported-upkeep.ts';

export const START = Date.UTC(2026, 10, 15, 12);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export const PRODUCTION: IntakeDelivery['intake'] = {
  id: 'prod',
  name: 'Production',
  place: 'slack:C1',
};

/** An alert as its sender reports it; it fires since `START` unless `changed` says otherwise. */
export const said = (key: string, changed: Partial<ReportedAlert> = {}): ReportedAlert => ({
  ...{ key, state: 'firing', name: `Alert ${key}`, severity: 'critical', startedAtMs: START },
  ...{ facts: [], links: [] },
  ...changed,
});

export const firing = (key: string, startedAtMs = START) => said(key, { startedAtMs });
export const resolved = (key: string, startedAtMs = START) =>
  said(key, { state: 'resolved', startedAtMs });

/** The rules of what others report, without a store, a network or a platform; time goes on when the test says. */
export function reportedWorld(settings: ChannelSettings = {}) {
  let watching: Watching | undefined;
  let nowMs = START;
  let made = 0;
  const newId = () => `id-${++made}`;
  const intakes = new Map([[PRODUCTION.id, PRODUCTION]]);
  const around = () => ({ nowMs, newId, settingsOf: () => settings });
  const incidents = createIncidents({
    state: {
      current: () => watching,
      async update(change) {
        watching = change(watching);
      },
    },
    nowMs: () => nowMs,
    onChange() {},
  });
  const all = () => incidentsIn(watching?.alerts ?? []);
  return {
    incidents,
    intakes,
    nowMs: () => nowMs,
    pass(ms: number) {
      nowMs += ms;
    },
    /** Takes one delivery for an intake. */
    hear(...alerts: ReportedAlert[]) {
      return this.take([{ intake: PRODUCTION, alerts, truncated: 0 }]);
    },
    /** Takes deliveries at once. */
    take(deliveries: IntakeDelivery[]) {
      const applied = applyReported(watching, deliveries, around());
      watching = applied.watching;
      const leftOut = [...applied.leftOut.values()].reduce((sum, count) => sum + count, 0);
      return { ...applied, leftOut };
    },
    /** Does what is due by now. */
    keepUp() {
      for (let isMore = true; watching && isMore; ) {
        const kept = withUpkeep(watching, { ...around(), intakes });
        ({ watching, isMore } = kept);
      }
    },
    /** Every place sees everything as it is. */
    tell() {
      const alerts = watching?.alerts.map((alert) => ({
        ...alert,
        deliveries: alert.deliveries.map((one) => ({
          ...{ ...one, attempted: true, told: alert.version, shownOpen: true },
          posted: { message: one.postId, thread: one.postId },
        })),
      }));
      if (watching && alerts) watching = { ...watching, alerts };
    },
    watching: () => watching,
    set(next: Watching) {
      watching = next;
    },
    reported: () => watching?.reported ?? [],
    all,
    open: () => all().filter(({ endedAtMs }) => endedAtMs === undefined),
    /** Titles of all messages, oldest first. */
    titles: () =>
      (watching?.alerts ?? [])
        .filter(({ deliveries }) => deliveries.length > 0)
        .map((alert) => alertCard(alert, { shownOpen: true }).title),
  };
}
