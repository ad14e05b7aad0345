import type { Logger } from 'pino';
import { z } from 'zod';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { clientKeyOf } from '../../http/client-address.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type { AddressFor } from '../../http/public-address.ts';
import { createRateLimit, rateLimitHeaders } from '../../http/rate-limit.ts';
import type { HttpReply, HttpRequest, HttpServer } from '../../http/server-types.ts';
import { type Guards, guarded, type Viewer } from '../login/guards.ts';
import { sendConditional } from '../shared/conditional.ts';
import { beginStream } from '../shared/event-stream.ts';
import type { StatusMonitor } from './api-types.ts';
import { badge } from './badge.ts';
import { createStatusDays } from './days.ts';
import { detailsOf } from './details.ts';
import { createFacts, ShownHours } from './facts.ts';
import { atomFeed, createIncidents } from './feed.ts';
import { createStatusMaintenance, plannedFor } from './maintenance.ts';
import { StatusPoller, type StatusSnapshot } from './poller.ts';
import { publicMonitor } from './report.ts';
import { createStatusStreams } from './streams.ts';
import { taggedPart } from './tagged.ts';
import { createStatusWriter, tagOf } from './writer.ts';

/** Limit per address on a public page. Behind a proxy, many people share one address. */
const REQUESTS_PER_MINUTE = 300;

/** Other pages embed badges and request them again and again. */
const BADGE_AGE_SECONDS = 30;

/** Planned maintenance changes seldom, so it is read once in so many polls. */
const POLLS_TO_MAINTENANCE = 10;

const MonitorPath = z.object({ id: z.string().min(1).max(500) });
const TagQuery = z.object({ tag: z.string().min(1).max(40).toLowerCase().optional() });
const BadgePath = z.object({ file: z.string().min(5).max(504).endsWith('.svg') });
const DetailsQuery = z.object({
  hours: z.preprocess((text) => (text === undefined ? 24 : Number(text)), ShownHours),
});

export interface StatusOptions {
  /** Creates a client of the service whose monitors the page shows. Called at the first visit. */
  monitoring: () => MonitoringClient;
  pollMs: number;
  addressFor: AddressFor;
  /** Anyone may see it, without targets and causes. */
  isPublic?: boolean;
}

/** Adds the status page's routes under `/status`, for the page and for programs. Call it before the server listens. */
export function addStatus(
  server: HttpServer,
  guards: Guards,
  options: StatusOptions & { log: Logger },
) {
  let client: MonitoringClient | undefined;
  const monitoring = () => {
    client ??= options.monitoring();
    return client;
  };
  const days = createStatusDays({ monitoring, log: options.log });
  const maintenance = createStatusMaintenance({
    monitoring,
    log: options.log,
    everyMs: POLLS_TO_MAINTENANCE * options.pollMs,
  });
  const poller = new StatusPoller({ ...options, monitoring, days, maintenance });
  const writer = createStatusWriter();
  const streams = createStatusStreams(poller, writer);
  const snapshotOf = createTaggedSnapshots(poller);
  const facts = createFacts(monitoring);
  const incidents = createIncidents(monitoring);
  const emptySince = new Date().toISOString();
  const limit = createRateLimit({ limit: REQUESTS_PER_MINUTE, windowMs: 60_000 });

  /** Counts strangers by address. Throws the 429. */
  function admitted(request: HttpRequest, reply: HttpReply): Viewer {
    const viewer = guards.viewer(request);
    if (viewer === 'member') return viewer;
    const verdict = limit.take(clientKeyOf(request.ip));
    reply.headers(rateLimitHeaders(verdict));
    if (verdict.allowed) return viewer;
    throw new HttpError(429, 'rate_limit_exceeded', 'Too many requests. Wait a minute.');
  }

  const ofTag = guarded(guards.statusFetch, { querystring: TagQuery });

  server.get('/status.json', ofTag, async (request, reply) => {
    const viewer = admitted(request, reply);
    const { json, tag } = await writer.report(await snapshotOf(request.query.tag), viewer);
    const content = { body: json, tag, type: JSON_TYPE, ...cached(viewer, 0) };
    return sendConditional(request, reply, content);
  });

  server.get('/status/events', guarded(guards.statusFetch), async (request, reply) => {
    const viewer = admitted(request, reply);
    const address = clientKeyOf(request.ip);
    if (!streams.hasRoom(viewer, address)) throw tooManyStreams();
    const response = beginStream(reply);
    await streams.open(response, viewer, address);
  });

  server.get(
    '/status/monitors/:id',
    guarded(guards.statusFetch, { params: MonitorPath, querystring: DetailsQuery }),
    async (request, reply) => {
      const viewer = admitted(request, reply);
      const { hours } = request.query;
      const monitor = await findMonitor(poller, request.params.id);
      const found = await facts.read(monitor.id, hours, viewer);
      const snapshot = await poller.current();
      const details = detailsOf(monitor, found, { hours, viewer, snapshot });
      return send(request, reply, viewer, { text: JSON.stringify(details), type: JSON_TYPE });
    },
  );

  server.get('/status/badge.svg', ofTag, async (request, reply) => {
    const viewer = admitted(request, reply);
    const { tag = 'status' } = request.query;
    const { overall } = await snapshotOf(request.query.tag);
    return sendBadge(request, reply, viewer, badge(tag, overall));
  });

  server.get(
    '/status/badge/:file',
    guarded(guards.statusFetch, { params: BadgePath }),
    async (request, reply) => {
      const viewer = admitted(request, reply);
      const monitor = await findMonitor(poller, request.params.file.slice(0, -4));
      const { name, status } = viewer === 'anyone' ? publicMonitor(monitor) : monitor;
      const { overall } = await poller.current();
      const shown = overall === 'unknown' ? overall : status;
      return sendBadge(request, reply, viewer, badge(name, shown));
    },
  );

  server.get('/status/feed.xml', ofTag, async (request, reply) => {
    const viewer = admitted(request, reply);
    const { tag } = request.query;
    const { maintenance, monitors } = await snapshotOf(tag);
    const ids = new Set(monitors.map(({ id }) => id));
    const found = await incidents(viewer);
    const feed = atomFeed({
      incidents: tag === undefined ? found : found.filter(({ monitor }) => ids.has(monitor)),
      planned: plannedFor(viewer, maintenance)?.windows ?? [],
      origin: options.addressFor(request),
      tag,
      emptySince,
      nowMs: Date.now(),
    });
    const type = 'application/atom+xml; charset=utf-8';
    return send(request, reply, viewer, { text: feed, type });
  });

  return {
    /** Reads everything again, because a person may have changed something. */
    refresh() {
      facts.expire();
      poller.pollSoon();
    },
    async close() {
      streams.close();
      await poller.close();
      await client?.close();
    },
  };
}

async function findMonitor(poller: StatusPoller, id: string): Promise<StatusMonitor> {
  const { monitors } = await poller.current();
  const monitor = monitors.find((one) => one.id === id);
  if (!monitor) throw notFound('There is no such monitor.');
  return monitor;
}

/**
 * Creates a function that resolves to the current snapshot, limited to a tag: the same object for one poll, so that it is
 * written once. It throws a 404 for a tag that no monitor has.
 */
function createTaggedSnapshots(poller: StatusPoller) {
  const parts = new WeakMap<StatusSnapshot, Map<string, StatusSnapshot>>();
  return async (tag: string | undefined): Promise<StatusSnapshot> => {
    const snapshot = await poller.current();
    if (tag === undefined) return snapshot;
    const known = parts.get(snapshot) ?? new Map<string, StatusSnapshot>();
    const part = known.get(tag) ?? taggedPart(snapshot, tag);
    if (part.monitors.length === 0) throw notFound(`No monitor is tagged ${tag}.`);
    parts.set(snapshot, known.set(tag, part));
    return part;
  };
}

const JSON_TYPE = 'application/json; charset=utf-8';

function sendBadge(request: HttpRequest, reply: HttpReply, viewer: Viewer, svg: string) {
  const type = 'image/svg+xml; charset=utf-8';
  return send(request, reply, viewer, { text: svg, type, ageSeconds: BADGE_AGE_SECONDS });
}

function send(
  request: HttpRequest,
  reply: HttpReply,
  viewer: Viewer,
  { text, type, ageSeconds = 0 }: { text: string; type: string; ageSeconds?: number },
) {
  const body = Buffer.from(text);
  const tag = tagOf(body);
  return sendConditional(request, reply, { body, tag, type, ...cached(viewer, ageSeconds) });
}

/** Shared caches may keep only what anyone may see. */
const cached = (viewer: Viewer, ageSeconds: number) => ({
  cacheControl: `${viewer === 'anyone' ? 'public' : 'private'}, ${ageSeconds === 0 ? 'no-cache' : `max-age=${ageSeconds}`}`,
});

const tooManyStreams = () =>
  new HttpError(503, 'too_many_streams', 'Too many pages are open. Close some, or try again.', {
    headers: { 'retry-after': '10' },
  });
