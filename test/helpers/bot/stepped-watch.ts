import { onTestFinished } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import type { Incident } from '../../../src/bot/incidents/watch-state.ts';
import { openLastPoll } from '../../../src/bot/watch/last-poll.ts';
import { createPoller } from '../../../src/bot/watch/poller.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../eventually.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';

/** The service's response about a monitor, or about all if `id` is empty; `undefined` is no response. */
type Answered = { status?: number; headers?: Record<string, string>; body: object } | undefined;
export type Asked = (
  what: string,
  id: string,
  query: URLSearchParams,
) => Answered | Promise<Answered>;

/** A service whose list is the given one and whose additions answer what a test says, on a real port. */
export async function startAdditions(monitors: Monitor[], answer: Asked = () => NOT_FOUND) {
  /** Requests other than the list, such as `results a`. */
  const asked: string[] = [];
  let listed = true;
  const { url } = await startWebTarget(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://service');
    const [kind = '', id = '', what = kind] = pathname.split('/').slice(4);
    const isList = pathname.endsWith('/monitors');
    if (!isList) asked.push(`${what} ${id}`);
    const answered = isList
      ? { status: listed ? 200 : 400, body: { count: monitors.length, monitors } }
      : await answer(what, id, searchParams);
    if (!answered) return;
    response.writeHead(answered.status ?? 200, answered.headers);
    response.end(JSON.stringify(answered.body));
  });
  return {
    ...{ url, key: 'a-key', asked },
    /** Makes the list available or not. */
    show(whether: boolean) {
      listed = whether;
    },
  };
}

const NOT_FOUND = { status: 404, body: { error: { message: 'Not found.' } } };

/** A monitor of a service with additions. */
export function counting(id: string, changes: number, given: Partial<Monitor> = {}): Monitor {
  return {
    ...{ id, name: `Name of ${id}`, check_type: 'HTTP', target: `https://${id}.example` },
    ...{ status: 'UP', interval_seconds: 60, status_changes: changes },
    ...given,
  };
}

/** A poller that polls when the test says, at the test's time. */
export async function startSteppedWatch(
  service: { url: string; key: string },
  { folder, nowMs, pollMs = 5000 }: { folder?: string; nowMs: number; pollMs?: number },
) {
  const { log, lines } = recordingLog();
  const store = await openTestStore({ folder: folder ?? (await temporaryFolder()), log });
  const state = await openWatchState(store);
  // Longer than tests wait: what a poll waits for is the watch's to say.
  const monitoring = createMonitoringClient({
    ...{ baseUrl: service.url, apiKey: service.key, timeoutMs: 60_000 },
  });
  const channels = createChannels(store);
  let now = nowMs;
  let polls = 0;
  let goOn = () => {};
  const watch = createPoller({
    monitoring,
    state,
    lastPoll: await openLastPoll(store, { pollMs }),
    channels,
    alertPlaces: [{ platform: 'slack', channel: 'C1' }],
    pollMs,
    clock: {
      nowMs: () => now,
      async pause(_ms, signal) {
        polls += 1;
        await new Promise<void>((resolve) => {
          goOn = resolve;
          signal.addEventListener('abort', () => resolve());
        });
      },
    },
    random: () => 0.5,
    onChange: () => {},
    log,
  });
  let closed = false;
  watch.start();
  await eventually(() => polls === 1);

  async function close() {
    if (closed) return;
    closed = true;
    await watch.stop();
    await monitoring.close();
    await store.close();
  }
  onTestFinished(close);

  const alerts = () => state.current()?.alerts ?? [];
  return {
    store,
    state,
    channels,
    lines,
    alerts,
    incidents: () => alerts().filter((alert): alert is Incident => alert.kind === 'incident'),
    async poll(atMs: number) {
      now = atMs;
      const before = polls;
      goOn();
      await eventually(() => polls > before);
    },
    close,
  };
}
