import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { holdRefused } from '../helpers/refused-port.ts';

/** A monitor of the bare contract. */
export interface FakeMonitor {
  id: string;
  name: string;
  check_type: string;
  target: string;
  status: string;
  interval_seconds: number;
  /** An optional field of the contract. */
  status_changed_at?: string;
  channels?: string[];
  tags?: string[];
  runbook?: string;
}

/** Faults; `empty-list` and `halved-list` have a matching count. */
export type MonitoringFault =
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: unknown }
  | { kind: 'html' }
  | { kind: 'truncated-json' }
  | { kind: 'count-mismatch' }
  | { kind: 'duplicate-id' }
  /** These stand before the good rows, as they are. */
  | { kind: 'odd-rows'; rows: unknown[] }
  | { kind: 'empty-list' }
  | { kind: 'halved-list' }
  | { kind: 'hang' }
  | { kind: 'reset' }
  | { kind: 'garbage-bytes' }
  | { kind: 'huge'; bytes: number }
  | { kind: 'redirect'; location: string };

export interface MonitoringRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** A monitoring service that keeps the contract and nothing more, on a real port. */
export interface MonitoringService {
  url: string;
  apiKey: string;
  monitors: FakeMonitor[];
  /** Heartbeat tokens that got a ping, in order. */
  pings: string[];
  /** Every request, oldest first. */
  requests: MonitoringRequest[];
  /** Method and path of what this service does not have; a test should find it empty. */
  unhandled: string[];
  /** Adds a monitor; `status` is UP when not given. */
  add(monitor: Partial<FakeMonitor> & { name: string }): FakeMonitor;
  /** Changes it now, or says that it was so since `changedAtMs`. */
  setStatus(id: string, status: string, changedAtMs?: number): void;
  /** Sets a fault of all requests except pings, for the next `times` or until `recover`. */
  failWith(fault: MonitoringFault, times?: number): void;
  recover(): void;
  close(): Promise<void>;
}

const LIST = '/api/v1/public/monitors';
const PUSH = '/api/v1/public/push/';
const REQUESTS_PER_MINUTE = 120;
const CREATE_FIELDS = new Set(['name', 'target', 'check_type', 'config']);

/** Starts a service without monitors. `limit: false` leaves out the 120 requests a minute. */
export async function startMonitoringService(
  options: { apiKey?: string; limit?: boolean; port?: number } = {},
): Promise<MonitoringService> {
  const { apiKey = 'monitoring-key-0123456789', limit = true, port = 0 } = options;
  const monitors: FakeMonitor[] = [];
  const pings: string[] = [];
  const requests: MonitoringRequest[] = [];
  const unhandled: string[] = [];
  const served: number[] = [];
  let fault: { what: MonitoringFault; left: number } | undefined;
  let made = 0;

  function add({ name, ...given }: Partial<FakeMonitor> & { name: string }): FakeMonitor {
    made += 1;
    const monitor = {
      id: `mon_${made}`,
      name,
      check_type: 'HTTP',
      target: 'https://shop.example',
      status: 'UP',
      interval_seconds: 60,
      ...given,
    };
    monitors.push(monitor);
    return monitor;
  }

  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0] ?? '';
    const method = request.method ?? '';
    const raw = await readText(request).catch(() => '');
    requests.push({ method, path, headers: request.headers, body: parse(raw) });
    if (method === 'POST' && path.startsWith(PUSH)) {
      pings.push(decodeURIComponent(path.slice(PUSH.length)));
      return send(response, 200, { ok: true });
    }
    if (path !== LIST || (method !== 'GET' && method !== 'POST')) {
      unhandled.push(`${method} ${path}`);
      return sendError(response, 404, 'Not found.');
    }
    const { authorization, 'x-api-key': key } = request.headers;
    if (key !== apiKey && authorization !== `Bearer ${apiKey}`) {
      return sendError(response, 401, 'Missing or invalid API key.');
    }
    if (!withinLimit(response)) return;
    const now = fault && fault.left-- > 0 ? fault.what : undefined;
    if (now && breaks(response, now)) return;
    if (method === 'POST') return create(response, parse(raw));
    send(response, 200, listed(now));
  });

  /** Counts the request and writes the headers; answers 429 itself when there are too many. */
  function withinLimit(response: ServerResponse): boolean {
    const nowMs = performance.now();
    while ((served[0] ?? nowMs) <= nowMs - 60_000) served.shift();
    const allowed = !limit || served.length < REQUESTS_PER_MINUTE;
    if (allowed) served.push(nowMs);
    response.setHeader('x-ratelimit-limit', REQUESTS_PER_MINUTE);
    response.setHeader('x-ratelimit-remaining', Math.max(0, REQUESTS_PER_MINUTE - served.length));
    if (!allowed) {
      response.setHeader('retry-after', 30);
      sendError(response, 429, 'Too many requests.');
    }
    return allowed;
  }

  function create(response: ServerResponse, body: unknown) {
    const fields = typeof body === 'object' && body !== null ? body : {};
    const { name, target, check_type, config } = fields as Record<string, unknown>;
    const unknown = Object.keys(fields).find((field) => !CREATE_FIELDS.has(field));
    if (unknown) return sendError(response, 400, `Unknown field ${unknown}.`, unknown);
    for (const [field, value] of Object.entries({ name, target, check_type })) {
      if (typeof value !== 'string' || value === '') {
        return sendError(response, 400, `The field ${field} is required.`, field);
      }
    }
    if (!['HTTP', 'KEYWORD', 'DNS'].includes(String(check_type))) {
      return sendError(response, 400, 'check_type must be HTTP, KEYWORD or DNS.', 'check_type');
    }
    const keyword = (config as { target_keyword?: unknown } | undefined)?.target_keyword;
    if (check_type === 'KEYWORD' && typeof keyword !== 'string') {
      return sendError(response, 400, 'config.target_keyword is required.', 'config');
    }
    const { interval_seconds, ...monitor } = add({
      name: String(name),
      target: String(target),
      check_type: String(check_type),
    });
    send(response, 201, { ...monitor, created_at: new Date().toISOString() });
  }

  function listed(now: MonitoringFault | undefined) {
    const whole = [...monitors];
    switch (now?.kind) {
      case 'count-mismatch':
        return { count: whole.length + 1, monitors: whole };
      case 'duplicate-id':
        return { count: whole.length * 2, monitors: [...whole, ...whole] };
      case 'odd-rows': {
        const named = new Set(now.rows.map((row) => (row as { id?: unknown } | null)?.id));
        const rest = whole.filter(({ id }) => !named.has(id));
        return { count: now.rows.length + rest.length, monitors: [...now.rows, ...rest] };
      }
      case 'empty-list':
        return { count: 0, monitors: [] };
      case 'halved-list': {
        const half = whole.slice(0, Math.ceil(whole.length / 2));
        return { count: half.length, monitors: half };
      }
      default:
        return { count: whole.length, monitors: whole };
    }
  }

  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const listening = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${listening.port}`,
    apiKey,
    monitors,
    pings,
    requests,
    unhandled,
    add,
    setStatus(id, status, changedAtMs) {
      const monitor = monitors.find((known) => known.id === id);
      if (!monitor) throw new Error(`There is no monitor ${id}.`);
      monitor.status = status;
      if (changedAtMs === undefined) delete monitor.status_changed_at;
      else monitor.status_changed_at = new Date(changedAtMs).toISOString();
    },
    failWith(what, times = Number.POSITIVE_INFINITY) {
      fault = { what, left: times };
    },
    recover() {
      fault = undefined;
    },
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await holdRefused(listening.port);
    },
  };
}

/** Plays a fault that replaces the whole answer; false when the fault is one of the list's content. */
function breaks(response: ServerResponse, fault: MonitoringFault): boolean {
  switch (fault.kind) {
    case 'status':
      for (const [name, value] of Object.entries(fault.headers ?? {})) {
        response.setHeader(name, value);
      }
      send(response, fault.status, fault.body ?? { error: { message: 'Broken.', type: 'fake' } });
      return true;
    case 'html':
      response.setHeader('content-type', 'text/html');
      response.end('<html><body>502 Bad Gateway</body></html>');
      return true;
    case 'truncated-json':
      send(response, 200, '{"count":2,"monitors":[{"id":"mon_1","na');
      return true;
    case 'garbage-bytes':
      response.end(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]));
      return true;
    case 'huge':
      sendHuge(response, fault.bytes);
      return true;
    case 'hang':
      return true;
    case 'reset':
      response.destroy();
      return true;
    case 'redirect':
      response.setHeader('location', fault.location);
      send(response, 302, '');
      return true;
    default:
      return false;
  }
}

function sendHuge(response: ServerResponse, bytes: number): void {
  const block = Buffer.alloc(64 * 1024, ' ');
  let sent = 0;
  const more = () => {
    while (sent < bytes && !response.destroyed) {
      sent += block.length;
      if (!response.write(block)) return void response.once('drain', more);
    }
    response.end();
  };
  more();
}

function parse(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return raw === '' ? undefined : raw;
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

function sendError(response: ServerResponse, status: number, message: string, param?: string) {
  send(response, status, {
    error: { message, type: 'invalid_request_error', param: param ?? null, code: null },
  });
}
