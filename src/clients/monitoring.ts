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
import {
  AddedPath,
  addedPath,
  type CheckRecord,
  CheckRecordList,
  DayList,
  IdempotencyHeader,
  type Incident,
  IncidentList,
  type MaintenanceChange,
  type MonitorChange,
  MonitorDetails,
  type RecentIncident,
  RecentIncidentList,
  RenewedPushToken,
  RollupList,
  Uptime,
} from '../contracts/monitoring-additions.ts';
import { oneLine } from '../contracts/one-line.ts';
import { maskedTarget } from '../contracts/secret-values.ts';
import { ContractError } from './errors.ts';
import {
  createCallLimit,
  openServiceConnection,
  type ServiceRequest,
} from './service-connection.ts';
import { readJson, readLongList, type ServiceResponse } from './service-response.ts';

/** A row of the list that is not as the contract has it. */
export interface InvalidMonitor {
  /** Its place in the list, from 0. */
  at: number;
  /** Absent when it has none. */
  id?: string;
  /** Whether it can be watched all the same. */
  isWatched: boolean;
  /** What is wrong: names of fields, or that it is there twice. */
  what: string;
}

/** What every call takes. */
interface Options {
  signal?: AbortSignal;
}

/**
 * The monitoring service as typed functions. Every function throws a `CallError` or a `ContractError`; after an abort,
 * the signal's own reason.
 */
export interface MonitoringClient extends AddedCalls {
  /**
   * All active monitors with their live statuses; a list whose `count` is not its length is a `ContractError`.
   * `includePaused` is an addition: a service of the contract alone may refuse it. A row that is not as the contract has it
   * is told to `onInvalid`, and stands in the list if it has an id and a status: without a name it has its target or id for
   * one, and an interval of 0 seconds stands for none. Of several rows with one id the first that is not UP counts.
   */
  list(
    options?: Options & { includePaused?: boolean; onInvalid?: (row: InvalidMonitor) => void },
  ): Promise<Monitor[]>;
  /** With an `idempotencyKey`, our service makes one monitor of as many calls; one of the contract alone ignores it. */
  create(
    monitor: MonitorCreateInput,
    options?: Options & { idempotencyKey?: string },
  ): Promise<MonitorCreated>;
  /** Sends one heartbeat. */
  push(token: string, options?: Options): Promise<void>;
  close(): Promise<void>;
}

/** A time in which history is looked at, ISO 8601; the service has a default for what is left out. */
export interface HistoryRange {
  from?: string;
  to?: string;
}

/** What our service has beyond the contract; another one answers 404. */
interface AddedCalls {
  show(id: string, options?: Options): Promise<MonitorDetails>;
  /** Settings that are not named stay; `null` takes one back to its default. */
  change(id: string, change: MonitorChange, options?: Options): Promise<MonitorDetails>;
  remove(id: string, options?: Options): Promise<void>;
  pause(id: string, options?: Options): Promise<MonitorDetails>;
  resume(id: string, options?: Options): Promise<MonitorDetails>;
  /** Looks now; the answer comes after the look. */
  check(id: string, options?: Options): Promise<MonitorDetails>;
  /** Sets all maintenance windows, in place of those there are. */
  setMaintenance(
    id: string,
    windows: MaintenanceChange['windows'],
    options?: Options,
  ): Promise<MonitorDetails>;
  /** Makes a new push address for a heartbeat; the one before stops working. */
  renewPushToken(id: string, options?: Options): Promise<RenewedPushToken>;
  /** The last looks, newest first. */
  results(id: string, options?: Options & { limit?: number }): Promise<CheckRecord[]>;
  /** Times in which it was DOWN, newest first. */
  incidents(id: string, options?: Options & { limit?: number }): Promise<Incident[]>;
  rollups(
    id: string,
    options?: Options & HistoryRange & { by?: RollupList['by'] },
  ): Promise<RollupList>;
  uptime(id: string, options?: Options & HistoryRange): Promise<Uptime>;
  /** How the days of all monitors went, up to 500 monitors at a time: those whose id comes after `after`. */
  days(options?: Options & { days?: number; after?: string }): Promise<DayList>;
  /** Of all monitors, newest first. */
  recentIncidents(options?: Options & { limit?: number }): Promise<RecentIncident[]>;
  /** Tells that the job of a heartbeat started, failed, or ended with an exit code, 0 to 255. */
  pushSignal(token: string, signal: 'start' | 'fail' | number, options?: Options): Promise<void>;
}

/** A monitor whose additions to the contract are left out where another service means something else by those names. */
const ForeignMonitor = Monitor.extend({
  // Another service may show secrets that stand in a target; here nothing keeps, sends or writes them.
  target: Monitor.shape.target.overwrite(maskedTarget).overwrite(oneLine),
  // A name with line breaks would be instructions in a prompt.
  name: Monitor.shape.name.overwrite(oneLine),
  status_changed_at: Monitor.shape.status_changed_at.catch(undefined),
  status_changes: Monitor.shape.status_changes.catch(undefined),
  status_reason: Monitor.shape.status_reason.catch(undefined),
  last_checked_at: Monitor.shape.last_checked_at.catch(undefined),
  response_time_ms: Monitor.shape.response_time_ms.catch(undefined),
  flapping: Monitor.shape.flapping.catch(undefined),
  waiting_for_first_ping: Monitor.shape.waiting_for_first_ping.catch(undefined),
  stale: Monitor.shape.stale.catch(undefined),
});
/** As much of a row as can be watched: its id and status. The rest is what it can be. */
const MendedMonitor = ForeignMonitor.extend({
  id: z.union([z.string().min(1), z.number().transform(String)]),
  name: ForeignMonitor.shape.name.catch(''),
  check_type: Monitor.shape.check_type.catch('unknown'),
  target: ForeignMonitor.shape.target.catch(''),
  status: z.string().trim().min(1),
  interval_seconds: Monitor.shape.interval_seconds.catch(0),
});
const RowId = MendedMonitor.pick({ id: true });

const ForeignMonitorList = {
  envelope: MonitorList.extend({
    monitors: z.array(z.unknown()),
    next: MonitorList.shape.next.catch(undefined),
  }),
  name: 'monitors',
  item: ForeignMonitor,
} as const;

/** The contract's "ISO 8601 UTC" is also written with `+00:00`, or without any zone. */
const ForeignMonitorCreated = MonitorCreated.extend({
  target: MonitorCreated.shape.target.overwrite(maskedTarget).overwrite(oneLine),
  name: MonitorCreated.shape.name.overwrite(oneLine),
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
  const service = openServiceConnection(options);
  const headers = { 'x-api-key': options.apiKey };

  async function send<T>(
    call: ServiceRequest,
    signal: AbortSignal | undefined,
    read: (answer: ServiceResponse) => Promise<T> | T,
  ) {
    const limit = createCallLimit(signal);
    limit.after(timeoutMs, `${service.nameOf(call)} did not answer within ${timeoutMs / 1000} s.`);
    try {
      return await service.send(call, limit, read);
    } finally {
      limit.release();
    }
  }

  function ask<T>(
    call: Omit<ServiceRequest, 'headers'>,
    shape: z.ZodType<T>,
    { signal }: Options = {},
  ): Promise<T> {
    return send({ ...call, headers }, signal, (answer) => readJson(answer, shape));
  }

  return {
    list({ signal, includePaused = false, onInvalid = () => {} } = {}) {
      const path = MonitoringPath.monitors + query({ include_paused: includePaused || undefined });
      const call: ServiceRequest = { method: 'GET', path, headers };
      return send(call, signal, (answer) => readMonitors(answer, onInvalid));
    },
    create(monitor, { signal, idempotencyKey } = {}) {
      const repeatable = idempotencyKey && { [IdempotencyHeader.key]: idempotencyKey };
      const call: ServiceRequest = {
        method: 'POST',
        path: MonitoringPath.monitors,
        headers: { ...headers, ...repeatable },
        body: monitor,
      };
      return send(call, signal, (answer) => readJson(answer, ForeignMonitorCreated));
    },
    async push(token, { signal } = {}) {
      // The token is the credential, so no key is sent and no error shows the path.
      const call: ServiceRequest = {
        method: 'POST',
        path: pushPath(token),
        shownPath: MonitoringPath.push,
      };
      await send(call, signal, (answer) => answer.body.dump());
    },
    show: (id, options) =>
      ask({ method: 'GET', path: addedPath('monitor', { id }) }, MonitorDetails, options),
    change: (id, body, options) =>
      ask({ method: 'PATCH', path: addedPath('monitor', { id }), body }, MonitorDetails, options),
    async remove(id, { signal } = {}) {
      const call: ServiceRequest = {
        method: 'DELETE',
        path: addedPath('monitor', { id }),
        headers,
      };
      await send(call, signal, (answer) => answer.body.dump());
    },
    pause: (id, options) =>
      ask({ method: 'POST', path: addedPath('pause', { id }) }, MonitorDetails, options),
    resume: (id, options) =>
      ask({ method: 'POST', path: addedPath('resume', { id }) }, MonitorDetails, options),
    check: (id, options) =>
      ask({ method: 'POST', path: addedPath('check', { id }) }, MonitorDetails, options),
    setMaintenance(id, windows, options) {
      const path = addedPath('maintenance', { id });
      return ask({ method: 'PUT', path, body: { windows } }, MonitorDetails, options);
    },
    renewPushToken: (id, options) =>
      ask({ method: 'POST', path: addedPath('pushToken', { id }) }, RenewedPushToken, options),
    async results(id, { limit, ...options } = {}) {
      const path = addedPath('results', { id }) + query({ limit });
      return (await ask({ method: 'GET', path }, CheckRecordList, options)).results;
    },
    async incidents(id, { limit, ...options } = {}) {
      const path = addedPath('incidents', { id }) + query({ limit });
      return (await ask({ method: 'GET', path }, IncidentList, options)).incidents;
    },
    rollups(id, { by, from, to, ...options } = {}) {
      const path = addedPath('rollups', { id }) + query({ by, from, to });
      return ask({ method: 'GET', path }, RollupList, options);
    },
    uptime(id, { from, to, ...options } = {}) {
      const path = addedPath('uptime', { id }) + query({ from, to });
      return ask({ method: 'GET', path }, Uptime, options);
    },
    days({ days, after, ...options } = {}) {
      const path = addedPath('days', {}) + query({ days, after });
      return ask({ method: 'GET', path }, DayList, options);
    },
    async recentIncidents({ limit, ...options } = {}) {
      const path = addedPath('recentIncidents', {}) + query({ limit });
      return (await ask({ method: 'GET', path }, RecentIncidentList, options)).incidents;
    },
    async pushSignal(token, kind, { signal } = {}) {
      const path = addedPath('pushSignal', { token, signal: String(kind) });
      const call: ServiceRequest = { method: 'POST', path, shownPath: AddedPath.pushSignal };
      await send(call, signal, (answer) => answer.body.dump());
    },
    close: () => service.close(),
  };
}

/** With its question mark; nothing when nothing is asked for. */
function query(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) asked.set(name, String(value));
  }
  return asked.size === 0 ? '' : `?${asked}`;
}

/** The monitors of a list that holds together: one that contradicts itself says nothing about what is gone. */
async function readMonitors(
  answer: ServiceResponse,
  onInvalid: (row: InvalidMonitor) => void,
): Promise<Monitor[]> {
  let unusable = 0;
  const { count, monitors } = await readLongList(answer, {
    ...ForeignMonitorList,
    repair({ at, value, fields }) {
      const { data: repaired } = MendedMonitor.safeParse(value);
      const { data: row } = RowId.safeParse(value);
      if (!repaired) unusable += 1;
      const what = fields.join(', ');
      onInvalid({ at, ...(row && { id: row.id }), isWatched: repaired !== undefined, what });
      return repaired && { ...repaired, name: repaired.name || repaired.target || repaired.id };
    },
  });
  if (count !== monitors.length + unusable) {
    throw new ContractError(
      `${answer.what} counts ${count} monitors but lists ${monitors.length + unusable}; the list is not whole.`,
    );
  }
  return eachOnce(monitors, onInvalid);
}

/** Of several rows with one id, the first that is not UP: an outage must not hide behind a row that says otherwise. */
function eachOnce(monitors: Monitor[], onInvalid: (row: InvalidMonitor) => void): Monitor[] {
  const byId = new Map<string, Monitor>();
  for (const [at, monitor] of monitors.entries()) {
    const { id } = monitor;
    const known = byId.get(id);
    if (known) onInvalid({ at, id, isWatched: true, what: 'the same id again' });
    if (!known || isUp(known)) byId.set(id, known && isUp(monitor) ? known : monitor);
  }
  return byId.size === monitors.length ? monitors : [...byId.values()];
}

const isUp = ({ status }: Monitor) => status.toUpperCase() === 'UP';
