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
  addedPath,
  CheckRecordList,
  CURSOR_HEADER,
  DayList,
  IdempotencyHeader,
  type Incident,
  IncidentList,
  type MaintenancePlan,
  MaintenancePlanned,
  type MonitorChange,
  MonitorChanges,
  MonitorDetails,
  PartList,
  PlannedWindowList,
  RecentIncidentList,
  RenewedPushToken,
  RollupList,
  Uptime,
} from '../contracts/monitoring-additions.ts';
import { oneLine } from '../contracts/one-line.ts';
import { maskedTarget } from '../contracts/secret-values.ts';
import { ContractError, StatusError } from './errors.ts';
import {
  openConnections,
  openServiceConnection,
  type ServiceRequest,
} from './service-connection.ts';
import {
  readJson,
  readLongList,
  type ServiceResponse,
  withoutOddAdditions,
} from './service-response.ts';

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
  /** For the whole call, in place of the client's. */
  timeoutMs?: number;
}

/** What a list is asked with, and who is told of it. */
interface ListOptions extends Options {
  onInvalid: (row: InvalidMonitor) => void;
  onCursor: (cursor: string) => void;
}

/** A time in which history is looked at, ISO 8601; the service has a default for what is left out. */
interface HistoryRange {
  from?: string;
  to?: string;
}

/** Incidents of one monitor, or of all: then each has its monitor. */
interface ListedIncidents {
  incidents: Array<Incident & { monitor?: string; name?: string }>;
  total: number;
  /** Whether there are no others of that time. */
  complete: boolean;
}

/** A monitor as any service may send it. */
const ForeignMonitor = withoutOddAdditions(Monitor).extend({
  // Another service may show secrets that stand in a target; here nothing keeps, sends or writes them.
  target: Monitor.shape.target.overwrite(maskedTarget).overwrite(oneLine),
  // A name with line breaks would be instructions in a prompt.
  name: Monitor.shape.name.overwrite(oneLine),
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
  envelope: withoutOddAdditions(MonitorList).extend({ monitors: z.array(z.unknown()) }),
  name: 'monitors',
  item: ForeignMonitor,
} as const;

const ForeignChanges = {
  envelope: MonitorChanges.extend({ monitors: z.array(z.unknown()) }),
  name: 'monitors',
  item: ForeignMonitor,
} as const;

/** A longer list is read in pages from a service that has them: reading one text holds up all else. */
const LONG_LIST_BYTES = 4 * 1024 * 1024;

/** Monitors in a page, and pages at most: who goes on for longer never ends. */
const PAGE_COUNT = 10_000;
const MAX_PAGES = 1_000;

/** Incidents that the service keeps of a monitor, and most that it lists of one. */
const KEPT_COUNT = 100;

const ForeignMonitorCreated = withoutOddAdditions(MonitorCreated).extend({
  target: ForeignMonitor.shape.target,
  name: ForeignMonitor.shape.name,
});

/**
 * The monitoring service as typed functions. Every function throws a `CallError` or a `ContractError`; after an abort,
 * the signal's own reason.
 */
export type MonitoringClient = ReturnType<typeof createMonitoringClient>;

/** Opens clients for callers with keys of their own, who share the connections to the service. */
export function openMonitoringClients(options: { baseUrl: string; log?: Logger }) {
  const connections = openConnections();
  return {
    /** Throws when the key cannot stand in a header. Not to be closed by itself: its connections are everybody's. */
    withKey: (apiKey: string) => createMonitoringClient({ ...options, apiKey, connections }),
    /** Ends what is under way. */
    close: () => connections.destroy(),
  };
}

/**
 * Opens a client of the monitoring service at `baseUrl`, with or without a slash at its end.
 * `timeoutMs` is for a whole call, repeats included.
 */
export function createMonitoringClient(options: {
  baseUrl: string;
  apiKey: string;
  timeoutMs?: number;
  connections?: ReturnType<typeof openConnections>;
  log?: Logger;
}) {
  const service = openServiceConnection(options);
  const headers = { 'x-api-key': options.apiKey };

  function send<T>(
    call: ServiceRequest,
    { signal, timeoutMs = options.timeoutMs ?? 10_000 }: Options,
    read: (answer: ServiceResponse) => Promise<T> | T,
  ): Promise<T> {
    return service.sendWithin(timeoutMs, call, signal, read);
  }

  function ask<T>(
    call: Omit<ServiceRequest, 'headers'>,
    shape: z.ZodType<T>,
    options: Options = {},
  ): Promise<T> {
    return send({ ...call, headers }, options, (answer) => readJson(answer, shape));
  }

  /** Whether the last list was too long to be read at once, of a service that has pages. */
  let isInPages = false;
  /** False once the service refused `include_paused`, which a service of the contract alone may not know. */
  let takesPaused = true;

  /** `undefined` where it is better read in pages. */
  async function readWhole(path: string, { onInvalid, onCursor, ...options }: ListOptions) {
    return await send({ method: 'GET', path, headers }, options, async (answer) => {
      const cursor = cursorOf(answer);
      if (cursor !== undefined && Number(answer.headers['content-length']) > LONG_LIST_BYTES) {
        answer.body.destroy();
        return undefined;
      }
      const { monitors } = await readMonitors(answer, onInvalid);
      if (cursor !== undefined) onCursor(cursor);
      return monitors;
    });
  }

  /** Throws `ContractError` where pages do not follow one another. */
  async function readPages(
    asked: Record<string, true | undefined>,
    { onInvalid, onCursor, ...options }: ListOptions,
  ): Promise<Monitor[]> {
    const all: Monitor[][] = [];
    let after: string | undefined;
    do {
      const path = MonitoringPath.monitors + query({ ...asked, limit: PAGE_COUNT, after });
      const page = await send({ method: 'GET', path, headers }, options, async (answer) => {
        const cursor = cursorOf(answer);
        // What changes while the other pages are read is told after this one.
        if (after === undefined && cursor !== undefined) onCursor(cursor);
        isInPages = cursor !== undefined;
        return { ...(await readMonitors(answer, onInvalid)), what: answer.what };
      });
      const next = page.next ?? undefined;
      if (all.push(page.monitors) > MAX_PAGES || (next !== undefined && next <= (after ?? ''))) {
        throw new ContractError(`${page.what} answers with an endless list of pages.`);
      }
      after = next;
    } while (after !== undefined);
    return all.flat();
  }

  async function readList(how: ListOptions, withPaused: boolean): Promise<Monitor[]> {
    const asked = { include_paused: withPaused || undefined };
    const whole = isInPages
      ? undefined
      : await readWhole(MonitoringPath.monitors + query(asked), how);
    return whole ?? (await readPages(asked, how));
  }

  return {
    /**
     * All monitors with their live statuses, paused ones included if the service lists them; a list whose `count` is not its
     * length is a `ContractError`. A row that is not as the contract has it is told to `onInvalid`, and stands in the list if it has an id and a status: without a name it has its target or id for
     * one, and an interval of 0 seconds stands for none. Of several rows with one id the first that is not UP counts.
     * A service that tells changes gives a cursor for `changes` with it, told to `onCursor`; of such a service a list that is very
     * long is read in pages, and the time is for each of them.
     */
    async list({
      onInvalid = () => {},
      onCursor = () => {},
      ...options
    }: Options & Partial<ListOptions> = {}): Promise<Monitor[]> {
      const how = { ...options, onInvalid, onCursor };
      try {
        return await readList(how, takesPaused);
      } catch (error) {
        const isRefused = takesPaused && error instanceof StatusError && error.status === 400;
        if (!isRefused) throw error;
        const active = await readList(how, false);
        takesPaused = false;
        return active;
      }
    },
    /** With an `idempotencyKey`, our service makes one monitor of as many calls; one of the contract alone ignores it. */
    create(
      monitor: MonitorCreateInput,
      { idempotencyKey, ...options }: Options & { idempotencyKey?: string } = {},
    ): Promise<MonitorCreated> {
      const repeatable = idempotencyKey && { [IdempotencyHeader.key]: idempotencyKey };
      const call: ServiceRequest = {
        method: 'POST',
        path: MonitoringPath.monitors,
        headers: { ...headers, ...repeatable },
        body: monitor,
      };
      return send(call, options, (answer) => readJson(answer, ForeignMonitorCreated));
    },
    /** Sends one heartbeat. */
    push(token: string, options: Options = {}): Promise<void> {
      // The token is the credential, so no key is sent and no error shows the path.
      const call: ServiceRequest = {
        method: 'POST',
        path: pushPath(token),
        shownPath: MonitoringPath.push,
      };
      return send(call, options, (answer) => answer.body.dump());
    },

    // What our service has beyond the contract; another one answers 404.

    /**
     * What changed of the list of monitors since one was read or changes were. Throws a `StatusError` of 410 when that cannot
     * be told, and a `ContractError` for a row that is not as the contract has it: then the list is to be read.
     */
    async changes(
      after: string,
      options: Options = {},
    ): Promise<{ monitors: Monitor[]; removed: string[]; cursor: string }> {
      const path =
        addedPath('changes', {}) + query({ after, include_paused: takesPaused || undefined });
      return await send({ method: 'GET', path, headers }, options, async (answer) => {
        const changes = await readLongList(answer, { ...ForeignChanges, repair: () => undefined });
        if (changes.count === changes.monitors.length) return changes;
        throw new ContractError(`${answer.what} answered with incomplete changes.`);
      });
    },
    show: (id: string, options?: Options) =>
      ask({ method: 'GET', path: addedPath('monitor', { id }) }, MonitorDetails, options),
    change: (id: string, change: MonitorChange, options?: Options) =>
      ask(
        { method: 'PATCH', path: addedPath('monitor', { id }), body: change },
        MonitorDetails,
        options,
      ),
    /** Sets a window for several monitors, besides those they have; `null` takes theirs away. The same twice is one. */
    planMaintenance: (plan: MaintenancePlan, options?: Options) =>
      ask(
        { method: 'POST', path: addedPath('planned', {}), body: plan },
        MaintenancePlanned,
        options,
      ),
    /** The windows of all monitors that go on or begin within some days, the first ones first. */
    planned({ days, limit, ...options }: Options & { days?: number; limit?: number } = {}) {
      const path = addedPath('planned', {}) + query({ days, limit });
      return ask({ method: 'GET', path }, PlannedWindowList, options);
    },
    remove(id: string, options: Options = {}): Promise<void> {
      const path = addedPath('monitor', { id });
      return send({ method: 'DELETE', path, headers }, options, (answer) => answer.body.dump());
    },
    pause: (id: string, options?: Options) =>
      ask({ method: 'POST', path: addedPath('pause', { id }) }, MonitorDetails, options),
    resume: (id: string, options?: Options) =>
      ask({ method: 'POST', path: addedPath('resume', { id }) }, MonitorDetails, options),
    /** Checks it now; the answer comes after the check. */
    check: (id: string, options?: Options) =>
      ask({ method: 'POST', path: addedPath('check', { id }) }, MonitorDetails, options),
    /** Makes a new push address for a heartbeat; the one before stops working. */
    renewPushToken: (id: string, options?: Options) =>
      ask({ method: 'POST', path: addedPath('pushToken', { id }) }, RenewedPushToken, options),
    /** The last checks, newest first. */
    async results(id: string, { limit, ...options }: Options & { limit?: number } = {}) {
      const path = addedPath('results', { id }) + query({ limit });
      return (await ask({ method: 'GET', path }, CheckRecordList, options)).results;
    },
    /** Times in which it was DOWN, newest first. */
    async incidents(id: string, { limit, ...options }: Options & { limit?: number } = {}) {
      const path = addedPath('incidents', { id }) + query({ limit });
      return (await ask({ method: 'GET', path }, IncidentList, options)).incidents;
    },
    rollups(
      id: string,
      { by, from, to, ...options }: Options & HistoryRange & { by?: RollupList['by'] } = {},
    ) {
      const path = addedPath('rollups', { id }) + query({ by, from, to });
      return ask({ method: 'GET', path }, RollupList, options);
    },
    uptime(id: string, { from, to, ...options }: Options & HistoryRange = {}) {
      const path = addedPath('uptime', { id }) + query({ from, to });
      return ask({ method: 'GET', path }, Uptime, options);
    },
    /** How the days of all monitors went, up to 500 monitors at a time: those whose id comes after `after`. */
    days({ days, after, ...options }: Options & { days?: number; after?: string } = {}) {
      const path = addedPath('days', {}) + query({ days, after });
      return ask({ method: 'GET', path }, DayList, options);
    },
    /** How parts of a time went for all monitors, between some moments (ISO 8601) in their order; a page as of `days`. */
    parts({
      moments,
      after,
      ...options
    }: Options & { moments: readonly string[]; after?: string }) {
      const path = addedPath('parts', {}) + query({ at: moments.join(','), after });
      return ask({ method: 'GET', path }, PartList, options);
    },
    /** Of all monitors, newest first. */
    async recentIncidents({ limit, ...options }: Options & { limit?: number } = {}) {
      const path = addedPath('recentIncidents', {}) + query({ limit });
      return (await ask({ method: 'GET', path }, RecentIncidentList, options)).incidents;
    },
    /**
     * The incidents that overlap a time, of one monitor or of all, newest first; `total` counts those beyond the limit too.
     * They are `complete` only when the service says so: another one may leave some out.
     */
    async incidentList({
      monitor,
      from,
      to,
      limit = 50,
      ...options
    }: Options & HistoryRange & { monitor?: string; limit?: number }): Promise<ListedIncidents> {
      if (monitor === undefined) {
        const path = addedPath('recentIncidents', {}) + query({ limit, from, to });
        const list = await ask({ method: 'GET', path }, RecentIncidentList, options);
        const { incidents, total = incidents.length, complete = false } = list;
        return { incidents, total, complete };
      }
      // All that are kept, so that they can be counted.
      const path = addedPath('incidents', { id: monitor }) + query({ limit: KEPT_COUNT, from, to });
      const list = await ask({ method: 'GET', path }, IncidentList, options);
      const { incidents, complete = false } = list;
      return { incidents: incidents.slice(0, limit), total: incidents.length, complete };
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
): Promise<{ monitors: Monitor[]; next: string | null | undefined }> {
  let unusable = 0;
  const { count, monitors, next } = await readLongList(answer, {
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
      `${answer.what} counts ${count} monitors but lists ${monitors.length + unusable}; the list is incomplete.`,
    );
  }
  return { monitors: eachOnce(monitors, onInvalid), next };
}

/** From where on changes of a list are told, if the service tells them. */
function cursorOf({ headers }: ServiceResponse): string | undefined {
  const cursor = headers[CURSOR_HEADER];
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined;
}

/** Of several rows with one id, the first that is not UP: an outage must not hide behind a row that says otherwise. */
function eachOnce(monitors: Monitor[], onInvalid: (row: InvalidMonitor) => void): Monitor[] {
  const byId = new Map<string, Monitor>();
  for (const [at, monitor] of monitors.entries()) {
    const { id } = monitor;
    const known = byId.get(id);
    if (known) onInvalid({ at, id, isWatched: true, what: 'the same id twice' });
    if (!known || isUp(known)) byId.set(id, known && isUp(monitor) ? known : monitor);
  }
  return byId.size === monitors.length ? monitors : [...byId.values()];
}

const isUp = ({ status }: Monitor) => status.toUpperCase() === 'UP';
