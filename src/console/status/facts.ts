import { z } from 'zod';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import { StatusError } from '../../clients/errors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { HttpError } from '../../http/errors.ts';
import { createRateLimit } from '../../http/rate-limit.ts';
import type { Viewer } from '../login/guards.ts';

const HOUR_MS = 3_600_000;

/** Hours of which the page shows the response times. */
export const SHOWN_HOURS = [1, 24, 168, 2160] as const;
export const ShownHours = z.literal(SHOWN_HOURS);
export type ShownHours = z.infer<typeof ShownHours>;

/** Incidents of one monitor that are shown. */
const INCIDENTS_COUNT = 20;

/** How long an answer counts as fresh, and how long it is kept for when nothing newer can be had. */
const FRESH_MS = 15_000;
const KEPT_MS = 10 * 60_000;
const KEPT_COUNT = 200;

/** Monitors asked about in a minute, each with four requests: a service of the contract takes 120 a minute from one key. */
const ASKED_PER_MINUTE: Record<Viewer, number> = { member: 15, anyone: 12 };

/** What the service knows of one monitor; what it does not have is absent. */
export type Facts = Awaited<ReturnType<typeof ask>>;

/** Makes what fetches the facts of one monitor, not again while they are fresh; it throws an `HttpError`. */
export function createFacts(monitoring: () => MonitoringClient) {
  const known = new Map<string, { atMs: number; facts: Promise<Facts> }>();
  const limitFor = (viewer: Viewer) =>
    createRateLimit({ limit: ASKED_PER_MINUTE[viewer], windowMs: 60_000 });
  const limits = { member: limitFor('member'), anyone: limitFor('anyone') };

  return async (monitor: string, hours: ShownHours, viewer: Viewer): Promise<Facts> => {
    const name = `${hours} ${monitor}`;
    const before = known.get(name);
    const ageMs = before ? performance.now() - before.atMs : Number.POSITIVE_INFINITY;
    if (before && ageMs < FRESH_MS) return await before.facts;
    const verdict = limits[viewer].take('all');
    if (!verdict.allowed) {
      if (before && ageMs < KEPT_MS) return await before.facts;
      throw tooMany(verdict.resetMs);
    }
    const entry = { atMs: performance.now(), facts: ask(monitoring(), monitor, hours) };
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
  };
}

async function ask(client: MonitoringClient, id: string, hours: ShownHours) {
  const atMs = Date.now();
  const { by, stepMs } = pieceOf(hours);
  const from = daysAgo(atMs, hours / 24);
  const [shown, rolled, incidents, lastDay] = await Promise.all([
    ifThere(client.show(id)),
    ifThere(client.rollups(id, { by, from })),
    ifThere(client.incidents(id, { limit: INCIDENTS_COUNT })),
    ifThere(client.uptime(id, { from: daysAgo(atMs, 1) })),
  ]);
  return {
    atMs,
    shown,
    /** Of the last 24 hours. */
    lastDay,
    rollups: rolled?.rollups ?? [],
    /** Milliseconds of one of them. */
    stepMs,
    incidents: incidents ?? [],
  };
}

/** The pieces that the response times of so many hours are told in. */
function pieceOf(hours: ShownHours) {
  if (hours === 2160) return { by: 'day', stepMs: 24 * HOUR_MS } as const;
  if (hours === 1) return { by: 'minute', stepMs: HOUR_MS / 60 } as const;
  return { by: 'hour', stepMs: HOUR_MS } as const;
}

const daysAgo = (atMs: number, days: number) => new Date(atMs - days * 24 * HOUR_MS).toISOString();

/** A service of the contract alone has nothing of a single monitor. */
export async function ifThere<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StatusError && [404, 405, 501].includes(error.status)) return undefined;
    throw error;
  }
}

function tooMany(waitMs: number): HttpError {
  const waitSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new HttpError(
    429,
    'too_many_details',
    `Too many monitors were opened in the last minute. Try again in ${waitSeconds} seconds.`,
    { headers: { 'retry-after': String(waitSeconds) } },
  );
}
