import type { Logger } from 'pino';
import type { z } from 'zod';
import {
  type Monitor,
  MonitorCreated,
  type MonitorCreateInput,
  MonitoringPath,
  pushPath,
} from '../contracts/monitoring.ts';
import {
  addedPath,
  CheckRecordList,
  DayList,
  IdempotencyHeader,
  type Incident,
  IncidentList,
  type MaintenancePlan,
  MaintenancePlanned,
  type MonitorChange,
  MonitorDetails,
  PartList,
  PlannedWindowList,
  RecentIncidentList,
  RenewedPushToken,
  RollupList,
  Uptime,
} from '../contracts/monitoring-additions.ts';
import {
  type CallOptions,
  ForeignMonitor,
  type ListOptions,
  MonitorListReader,
  type SendRequest,
} from './monitor-list.ts';
import {
  openConnections,
  openServiceConnection,
  type ServiceRequest,
  withQuery,
} from './service-connection.ts';
import { readJson, withoutOddAdditions } from './service-response.ts';

export type { InvalidMonitor } from './monitor-list.ts';

/** A span of history, ISO 8601; the service has a default for an absent end. */
interface HistoryRange {
  from?: string;
  to?: string;
}

/** Incidents of one monitor, or of all; then each names its monitor. */
export interface IncidentPage {
  incidents: Array<Incident & { monitor?: string; name?: string }>;
  total: number;
  /** There were no other incidents in that time. */
  complete: boolean;
}

/** Incidents that the service keeps of a monitor, which is also the most that it lists of one. */
const KEPT_COUNT = 100;

const ForeignMonitorCreated = withoutOddAdditions(MonitorCreated).extend({
  target: ForeignMonitor.shape.target,
  name: ForeignMonitor.shape.name,
});

interface ClientOptions {
  baseUrl: string;
  apiKey: string;
  /** For a whole call, repeats included. */
  timeoutMs?: number;
  connections?: ReturnType<typeof openConnections>;
  log?: Logger;
}

/** Every function throws a `CallError` or a `ContractError`; after an abort, the signal's own reason. */
export type MonitoringClient = ReturnType<typeof createMonitoringClient>;

/** Opens clients for callers with keys of their own, who share the connections to the service. */
export function openMonitoringClients(options: { baseUrl: string; log?: Logger }) {
  const connections = openConnections();
  return {
    /** Throws if a header can't hold the key. Don't close this client: it shares its connections with all others. */
    withKey: (apiKey: string) => createMonitoringClient({ ...options, apiKey, connections }),
    close: () => connections.destroy(),
  };
}

export function createMonitoringClient(options: ClientOptions) {
  const service = openServiceConnection(options);
  const { apiKey, timeoutMs: defaultMs = 10_000 } = options;
  const sendWithoutKey: SendRequest = (request, { signal, timeoutMs = defaultMs }, read) =>
    service.sendWithin(timeoutMs, request, signal, read);
  const send: SendRequest = (request, callOptions, read) => {
    const headers = { 'x-api-key': apiKey, ...request.headers };
    return sendWithoutKey({ ...request, headers }, callOptions, read);
  };
  return {
    ...contractCalls(send, sendWithoutKey),
    ...addedCalls(send),
    ...historyCalls(send),
    close: () => service.close(),
  };
}

/** The contract's calls, and the changes of its list. */
function contractCalls(send: SendRequest, sendWithoutKey: SendRequest) {
  const reader = new MonitorListReader(send);
  return {
    /**
     * Lists all monitors, paused ones included if the service lists them. A row that breaks the contract is passed to `onInvalid`, and
     * stays if it has an id and a status. Of several rows with one id the first that isn't UP counts. `onCursor` receives the cursor
     * for `changes`. A very long list is read in pages; the timeout then applies to each.
     */
    list: ({
      onInvalid = () => {},
      onCursor = () => {},
      ...options
    }: CallOptions & Partial<ListOptions> = {}) => reader.list({ ...options, onInvalid, onCursor }),
    /** With an `idempotencyKey` our service creates one monitor for any number of calls. Other services may ignore it. */
    create(
      monitor: MonitorCreateInput,
      { idempotencyKey, ...options }: CallOptions & { idempotencyKey?: string } = {},
    ): Promise<MonitorCreated> {
      const headers = idempotencyKey ? { [IdempotencyHeader.key]: idempotencyKey } : undefined;
      const path = MonitoringPath.monitors;
      return send({ method: 'POST', path, headers, body: monitor }, options, (answer) =>
        readJson(answer, ForeignMonitorCreated),
      );
    },
    push(token: string, options: CallOptions = {}): Promise<void> {
      // The token is the credential, so no key is sent and no error shows the path.
      const request = { path: pushPath(token), shownPath: MonitoringPath.push };
      return sendWithoutKey({ method: 'POST', ...request }, options, (answer) =>
        answer.body.dump(),
      );
    },
    /** Throws a `StatusError` of 410 for an unknown cursor, and a `ContractError` for an invalid row: read the whole list then. */
    changes: (
      after: string,
      options: CallOptions = {},
    ): Promise<{ monitors: Monitor[]; removed: string[]; cursor: string }> =>
      reader.changes(after, options),
  };
}

/** Calls on single monitors, which the contract doesn't have: another service answers 404. */
function addedCalls(send: SendRequest) {
  const ask = askWith(send);
  const act =
    (method: 'GET' | 'POST', path: 'monitor' | 'pause' | 'resume' | 'check') =>
    (id: string, options?: CallOptions) =>
      ask({ method, path: addedPath(path, { id }) }, MonitorDetails, options);
  return {
    show: act('GET', 'monitor'),
    change: (id: string, change: MonitorChange, options?: CallOptions) =>
      ask(
        { method: 'PATCH', path: addedPath('monitor', { id }), body: change },
        MonitorDetails,
        options,
      ),
    remove(id: string, options: CallOptions = {}): Promise<void> {
      const path = addedPath('monitor', { id });
      return send({ method: 'DELETE', path }, options, (answer) => answer.body.dump());
    },
    pause: act('POST', 'pause'),
    resume: act('POST', 'resume'),
    /** Checks it now; returns after the check. */
    check: act('POST', 'check'),
    /** Creates a new push address for a heartbeat; the old one stops working. */
    renewPushToken: (id: string, options?: CallOptions) =>
      ask({ method: 'POST', path: addedPath('pushToken', { id }) }, RenewedPushToken, options),
    /** Adds a window to several monitors, or removes theirs if it is `null`. Repeating the call changes nothing. */
    planMaintenance: (plan: MaintenancePlan, options?: CallOptions) =>
      ask(
        { method: 'POST', path: addedPath('planned', {}), body: plan },
        MaintenancePlanned,
        options,
      ),
    /** Lists the windows of all monitors that are active or begin within some days, the first ones first. */
    planned({ days, limit, ...options }: CallOptions & { days?: number; limit?: number } = {}) {
      const path = withQuery(addedPath('planned', {}), { days, limit });
      return ask({ method: 'GET', path }, PlannedWindowList, options);
    },
  };
}

/** Calls that read history, which the contract doesn't have either. */
function historyCalls(send: SendRequest) {
  const ask = askWith(send);
  return {
    /** Returns the last checks, newest first. */
    async results(id: string, { limit, ...options }: CallOptions & { limit?: number } = {}) {
      const path = withQuery(addedPath('results', { id }), { limit });
      return (await ask({ method: 'GET', path }, CheckRecordList, options)).results;
    },
    /** Returns the times in which it was DOWN, newest first. */
    async incidents(id: string, { limit, ...options }: CallOptions & { limit?: number } = {}) {
      const path = withQuery(addedPath('incidents', { id }), { limit });
      return (await ask({ method: 'GET', path }, IncidentList, options)).incidents;
    },
    rollups(
      id: string,
      { by, from, to, ...options }: CallOptions & HistoryRange & { by?: RollupList['by'] } = {},
    ) {
      const path = withQuery(addedPath('rollups', { id }), { by, from, to });
      return ask({ method: 'GET', path }, RollupList, options);
    },
    uptime(id: string, { from, to, ...options }: CallOptions & HistoryRange = {}) {
      const path = withQuery(addedPath('uptime', { id }), { from, to });
      return ask({ method: 'GET', path }, Uptime, options);
    },
    /** Returns the days of up to 500 monitors at a time, the ones whose id comes after `after`. */
    days({ days, after, ...options }: CallOptions & { days?: number; after?: string } = {}) {
      const path = withQuery(addedPath('days', {}), { days, after });
      return ask({ method: 'GET', path }, DayList, options);
    },
    /** Returns the time between each two of some moments (ISO 8601, in order) for all monitors, in pages as of `days`. */
    parts({
      moments,
      after,
      ...options
    }: CallOptions & { moments: readonly string[]; after?: string }) {
      const path = withQuery(addedPath('parts', {}), { at: moments.join(','), after });
      return ask({ method: 'GET', path }, PartList, options);
    },
    /** Returns incidents of all monitors, newest first. */
    async recentIncidents({ limit, ...options }: CallOptions & { limit?: number } = {}) {
      const path = withQuery(addedPath('recentIncidents', {}), { limit });
      return (await ask({ method: 'GET', path }, RecentIncidentList, options)).incidents;
    },
    /** Newest first; `total` also counts those beyond the limit. `complete` only if the service says so. */
    async incidentList({
      monitor,
      from,
      to,
      limit = 50,
      ...options
    }: CallOptions & HistoryRange & { monitor?: string; limit?: number }): Promise<IncidentPage> {
      if (monitor === undefined) {
        const path = withQuery(addedPath('recentIncidents', {}), { limit, from, to });
        const list = await ask({ method: 'GET', path }, RecentIncidentList, options);
        const { incidents, total = incidents.length, complete = false } = list;
        return { incidents, total, complete };
      }
      // All of them, so that they can be counted.
      const range = { limit: KEPT_COUNT, from, to };
      const path = withQuery(addedPath('incidents', { id: monitor }), range);
      const list = await ask({ method: 'GET', path }, IncidentList, options);
      const { incidents, complete = false } = list;
      return { incidents: incidents.slice(0, limit), total: incidents.length, complete };
    },
  };
}

function askWith(send: SendRequest) {
  return <T>(request: ServiceRequest, shape: z.ZodType<T>, options: CallOptions = {}): Promise<T> =>
    send(request, options, (answer) => readJson(answer, shape));
}
