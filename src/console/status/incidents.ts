import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Viewer } from '../login/guards.ts';
import type { StatusIncident } from './api-types.ts';
import { incidentOf } from './details.ts';
import { ifThere } from './facts.ts';

/** How long what was told is taken as new. */
const FRESH_MS = 30_000;

/** Incidents of all monitors that are asked for. */
const COUNT = 50;

/** The last incidents of all monitors, newest first; none where the service keeps none. Rejects when it does not answer. */
export type AskIncidents = (viewer: Viewer) => Promise<StatusIncident[]>;

/** Asks once for all who want to know. */
export function createIncidents(monitoring: () => MonitoringClient): AskIncidents {
  let atMs = Number.NEGATIVE_INFINITY;
  let asking: ReturnType<typeof ask> | undefined;

  async function ask() {
    return (await ifThere(monitoring().recentIncidents({ limit: COUNT }))) ?? [];
  }

  return async (viewer) => {
    if (asking === undefined || performance.now() - atMs >= FRESH_MS) {
      atMs = performance.now();
      asking = ask();
    }
    const now = asking;
    try {
      const told = await now;
      return told.flatMap(
        ({ monitor: id, name, ...incident }) =>
          incidentOf({ ...incident, monitor: { id, name: name.slice(0, 200) } }, viewer) ?? [],
      );
    } catch (error) {
      if (asking === now) asking = undefined;
      throw error;
    }
  };
}
