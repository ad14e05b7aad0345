import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { createGuards } from '../../../src/console/login/guards.ts';
import { addPageRoutes, PAGES } from '../../../src/console/page-files.ts';
import type { SessionState } from '../../../src/console/shared/api-types.ts';
import {
  STATUS_DAYS,
  StatusDetails,
  type StatusEvent,
  type StatusMonitor,
  StatusReport,
} from '../../../src/console/status/api-types.ts';
import { HttpError, notFound } from '../../../src/http/errors.ts';
import { createServer } from '../../../src/http/server.ts';
import { recordingLog } from '../recording-log.ts';
import { BUILT_PAGE } from './test-console.ts';

export const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A server that tells the status page whatever a test makes up, as far as the schema allows; the pages are the real ones. */
export interface MadeUpStatus {
  url: string;
  /** The hours for which details were asked, oldest first. */
  asked: number[];
  /** Tells a new report to every open page. */
  tell(report: Partial<StatusReport>): void;
  details: Map<string, Partial<StatusDetails>>;
  /** Details are refused from now on. */
  refuse(isRefused: boolean): void;
}

export async function startMadeUpStatus(
  first: Partial<StatusReport>,
  publicUrl?: string,
): Promise<MadeUpStatus> {
  const kit = await createServer({ log: recordingLog().log, version: '0.0.0' });
  const guards = createGuards();
  const readers = new Set<ServerResponse>();
  const asked: number[] = [];
  const details: MadeUpStatus['details'] = new Map();
  let report = reportOf(first);
  let isRefused = false;
  const send = (response: ServerResponse) => {
    const event: StatusEvent = { kind: 'report', report };
    response.write(`data: ${JSON.stringify(event)}\n\n`);
  };
  const pages = PAGES.filter(({ name }) => name === 'status');
  await addPageRoutes(kit.server, guards, BUILT_PAGE, { pages, publicUrl });
  const route = { schema: { hide: true }, onRequest: guards.fetch };
  kit.server.get('/status/events', route, async (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
    readers.add(reply.raw);
    send(reply.raw);
  });
  // No password is set.
  kit.server.get('/console/session', route, async (): Promise<SessionState> => ({ state: 'open' }));
  kit.server.get('/status/badge/:id', route, async (_request, reply) => {
    reply.type('image/svg+xml');
    return '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="20"/>';
  });
  kit.server.get('/status/monitors/:id', route, async ({ params, query }) => {
    const { id } = params as { id: string };
    const hours = Number((query as { hours?: string }).hours);
    asked.push(hours);
    const monitor = report.monitors.find((one) => one.id === id);
    if (isRefused) throw new HttpError(503, 'not_open', 'Not now.');
    if (!monitor) throw notFound('There is no such monitor.');
    return detailsOf(monitor, hours, details.get(id) ?? {});
  });
  const url = await kit.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    for (const response of readers) response.destroy();
    await kit.close();
  });
  return {
    ...{ url, asked, details },
    tell(next) {
      report = reportOf(next);
      for (const response of readers) send(response);
    },
    refuse(next) {
      isRefused = next;
    },
  };
}

const reportOf = (given: Partial<StatusReport>) =>
  StatusReport.strict().parse({
    ...{ generated_at: new Date().toISOString(), public: false, overall: 'up', monitors: [] },
    ...given,
  });

/** A monitor with ninety days: one partly down and one mostly, the last three weeks ago; before the first ten nobody looked. */
export function madeUpMonitor(number: number, given: Partial<StatusMonitor> = {}): StatusMonitor {
  const down_ms = Array.from({ length: STATUS_DAYS }, (_, day) =>
    day === STATUS_DAYS - 21 ? 12 * 60_000 : day === 30 ? 0.75 * DAY_MS : 0,
  );
  const up_ms = down_ms.map((down, day) => (day < 10 ? 0 : DAY_MS - down));
  return {
    ...{ id: `mon_${number}`, name: `Monitor ${number}`, check_type: 'HTTP', status: 'UP' },
    target: `https://service-${number}.example/`,
    response_time_ms: 40 + (number % 50),
    uptime: 0.9897,
    days: { last: new Date().toISOString().slice(0, 10), up_ms, down_ms },
    ...given,
  };
}

/** Every hour 100 ms, but nothing in the sixth before now; with no points given nothing at all. */
function detailsOf(monitor: StatusMonitor, hours: number, given: Partial<StatusDetails>) {
  const nowMs = Date.now();
  const latency = Array.from({ length: hours }, (_, at) => {
    const isGap = at === hours - 6 || given.latency?.length === 0;
    const value = (ms: number) => (isGap ? null : ms);
    return {
      at: new Date(nowMs - (hours - at) * HOUR_MS).toISOString(),
      ...{ mean_ms: value(100), min_ms: value(80), max_ms: value(130) },
    };
  });
  return StatusDetails.strict().parse({
    ...{ monitor, interval_seconds: 60, latency, latency_step_ms: HOUR_MS },
    uptime: [1, 7, 30, 90].map((days) => ({ days, uptime: days === 1 ? 0.99999 : null })),
    ...{ incidents: [], certificate_ends_at: null, heartbeat: null, maintenance: [] },
    ...given,
    latency,
  });
}
