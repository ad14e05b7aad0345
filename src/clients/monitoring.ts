import type { Logger } from 'pino';
import { z } from 'zod';
import {
  Monitor,
  MonitorCreated,
  type MonitorCreateInput,
  MonitoringPath,
  MonitorList,
  pushPath,
} from '../contracts/monitoring.ts';
import { type Answer, readJson } from './answer.ts';
import { type Call, createCaller } from './call.ts';
import { createCallLimit } from './call-limit.ts';
import { ContractError } from './errors.ts';

/**
 * The monitoring service as typed functions. Every function throws a `CallError` or a `ContractError`; after an abort,
 * the signal's own reason.
 */
export interface MonitoringClient {
  /** All active monitors with their live statuses; a list whose `count` is not its length is a `ContractError`. */
  list(options?: { signal?: AbortSignal }): Promise<Monitor[]>;
  create(monitor: MonitorCreateInput, options?: { signal?: AbortSignal }): Promise<MonitorCreated>;
  /** Sends one heartbeat. */
  push(token: string, options?: { signal?: AbortSignal }): Promise<void>;
  close(): Promise<void>;
}

/** A monitor whose additions to the contract are left out where another service means something else by those names. */
const ForeignMonitor = Monitor.extend({
  status_changed_at: Monitor.shape.status_changed_at.catch(undefined),
  status_changes: Monitor.shape.status_changes.catch(undefined),
  status_reason: Monitor.shape.status_reason.catch(undefined),
  last_checked_at: Monitor.shape.last_checked_at.catch(undefined),
  response_time_ms: Monitor.shape.response_time_ms.catch(undefined),
});
const ForeignMonitorList = MonitorList.extend({ monitors: z.array(ForeignMonitor) });

/** The contract's "ISO 8601 UTC" is also written with `+00:00`, or without any zone. */
const ForeignMonitorCreated = MonitorCreated.extend({
  created_at: z.iso.datetime({ offset: true, local: true }),
  interval_seconds: MonitorCreated.shape.interval_seconds.catch(undefined),
  push_url: MonitorCreated.shape.push_url.catch(undefined),
});

/**
 * Opens a client of the monitoring service at `baseUrl`, with or without a slash at its end.
 * `timeoutMs` is for a whole call, repeats included.
 */
export function createMonitoringClient(options: {
  baseUrl: string;
  apiKey: string;
  timeoutMs?: number;
  log?: Logger;
}): MonitoringClient {
  const { timeoutMs = 10_000 } = options;
  const caller = createCaller(options);
  const headers = { 'x-api-key': options.apiKey };

  async function send<T>(
    call: Call,
    signal: AbortSignal | undefined,
    read: (answer: Answer) => Promise<T> | T,
  ) {
    const limit = createCallLimit(signal);
    limit.after(timeoutMs, `${caller.nameOf(call)} did not answer within ${timeoutMs / 1000} s.`);
    try {
      return await caller.send(call, limit, read);
    } finally {
      limit.release();
    }
  }

  return {
    list({ signal } = {}) {
      const call: Call = { method: 'GET', path: MonitoringPath.monitors, headers };
      return send(call, signal, async (answer) =>
        wholeList(await readJson(answer, ForeignMonitorList), answer.what),
      );
    },
    create(monitor, { signal } = {}) {
      const call: Call = { method: 'POST', path: MonitoringPath.monitors, headers, body: monitor };
      return send(call, signal, (answer) => readJson(answer, ForeignMonitorCreated));
    },
    async push(token, { signal } = {}) {
      // The token is the credential, so no key is sent and no error shows the path.
      const call: Call = { method: 'POST', path: pushPath(token), shownPath: MonitoringPath.push };
      await send(call, signal, (answer) => answer.body.dump());
    },
    close: () => caller.close(),
  };
}

/** The monitors of a list that holds together: a list that contradicts itself says nothing about what is gone. */
function wholeList({ count, monitors }: MonitorList, what: string): Monitor[] {
  if (count !== monitors.length) {
    throw new ContractError(
      `${what} counts ${count} monitors but lists ${monitors.length}; the list is not whole.`,
    );
  }
  if (new Set(monitors.map(({ id }) => id)).size !== monitors.length) {
    throw new ContractError(`${what} lists the same monitor twice.`);
  }
  return monitors;
}
