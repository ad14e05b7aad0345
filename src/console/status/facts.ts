import { z } from 'zod';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import { ifOffered } from '../../bot/tools/monitors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { HttpError } from '../../http/errors.ts';
import { createRateLimit } from '../../http/rate-limit.ts';
import type { Viewer } from '../login/guards.ts';

const HOUR_MS = 3_600_000;

/** Periods of the response-time chart. */
export const SHOWN_HOURS = [1, 24, 168, 2160] as const;
export const ShownHours = z.literal(SHOWN_HOURS);
export type ShownHours = z.infer<typeof ShownHours>;

const INCIDENTS_COUNT = 20;

/** Answers are fresh for a while, and kept longer in case there is no newer one. */
const FRESH_MS = 15_000;
const KEPT_MS = 10 * 60_000;
const KEPT_COUNT = 200;

/** Monitors that are read in a minute, each with four requests. A service may limit a key to 120 requests a minute. */
const READS_PER_MINUTE: Record<Viewer, number> = { member: 15, anyone: 12 };

/** The details of one monitor, as far as the service offers them. */
export type MonitorFacts = Awaited<ReturnType<typeof readFacts>>;

/** `read` reads a monitor's facts unless they are fresh, and throws an `HttpError`. After `expire`, none are fresh. */
export function createFacts(monitoring: () => MonitoringClient) {
  const known = new Map<string, { atMs: number; facts: Promise<MonitorFacts> }>();
  const limitFor = (viewer: Viewer) =>
    createRateLimit({ limit: READS_PER_MINUTE[viewer], windowMs: 60_000 });
  const limits = { member: limitFor('member'), anyone: limitFor('anyone') };

  async function read(monitor: string, hours: ShownHours, viewer: Viewer): Promise<MonitorFacts> {
    const name = `${hours} ${monitor}`;
    const before = known.get(name);
    const ageMs = before ? performance.now() - before.atMs : Number.POSITIVE_INFINITY;
    if (before && ageMs < FRESH_MS) return await before.facts;
    const verdict = limits[viewer].take('all');
    if (!verdict.allowed) {
      if (before && ageMs < KEPT_MS) return await before.facts;
      throw tooMany(verdict.resetMs);
    }
    const entry = { atMs: performance.now(), facts: readFacts(monitoring(), monitor, hours) };
    known.delete(name);
    known.set(name, entry);
    forgetOldest(known, KEPT_COUNT);
    try {
      return await entry.facts;
    } catch (error) {
      if (known.get(name) === entry) known.delete(name);
      throw new HttpError(
        502,
        'monitoring_unreachable',
        "Couldn't load this monitor's details from the monitoring service. Try again.",
        { cause: error },
      );
    }
  }

  function expire() {
    for (const entry of known.values()) entry.atMs -= FRESH_MS;
  }

  return { read, expire };
}

async function readFacts(client: MonitoringClient, id: string, hours: ShownHours) {
  const atMs = Date.now();
  const { by, stepMs } = stepOf(hours);
  const from = daysAgo(atMs, hours / 24);
  const [shown, rolled, incidents, lastDay] = await Promise.all([
    ifOffered(client.show(id)),
    ifOffered(client.rollups(id, { by, from })),
    ifOffered(client.incidents(id, { limit: INCIDENTS_COUNT })),
    ifOffered(client.uptime(id, { from: daysAgo(atMs, 1) })),
  ]);
  return {
    atMs,
    shown,
    /** Uptime of the last 24 hours. */
    lastDay,
    rollups: rolled?.rollups ?? [],
    stepMs,
    incidents: incidents ?? [],
  };
}

function stepOf(hours: ShownHours) {
  if (hours === 2160) return { by: 'day', stepMs: 24 * HOUR_MS } as const;
  if (hours === 1) return { by: 'minute', stepMs: HOUR_MS / 60 } as const;
  return { by: 'hour', stepMs: HOUR_MS } as const;
}

const daysAgo = (atMs: number, days: number) => new Date(atMs - days * 24 * HOUR_MS).toISOString();

function tooMany(waitMs: number): HttpError {
  const waitSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new HttpError(
    429,
    'too_many_details',
    `Too many monitors were opened in the last minute. Try again in ${waitSeconds} seconds.`,
    { headers: { 'retry-after': String(waitSeconds) } },
  );
}
