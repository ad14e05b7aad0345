// A monitoring service that costs little: its list is made before it is asked for. Started by the bench with the number
// of monitors, and `changes` where it tells those and gives pages; `POST /down?count=10&from=20` has so many from the
// twentieth on DOWN and the others UP.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Monitor, MonitoringPath } from '../../src/contracts/monitoring.ts';
import { AddedPath, CURSOR_HEADER } from '../../src/contracts/monitoring-additions.ts';

const START_MS = Date.UTC(2027, 0, 15);

const monitors = Array.from(
  { length: Number(process.argv[2]) },
  (_, at): Monitor => ({
    id: `mon_${String(at).padStart(20, '0')}`,
    name: `Monitor number ${at}`,
    check_type: 'HTTP',
    target: `https://host-${at}.example.com/health`,
    status: 'UP',
    interval_seconds: 60,
    status_changed_at: new Date(START_MS).toISOString(),
    status_changes: 0,
    last_checked_at: new Date(START_MS).toISOString(),
    response_time_ms: 20 + (at % 100),
  }),
);

let list = listed();

function listed(): Buffer {
  return Buffer.from(JSON.stringify({ count: monitors.length, monitors }));
}

const tellsChanges = process.argv[3] === 'changes';
/** Numbers of monitors, in the order in which they changed; a cursor says how many of these are known. */
const changed: number[] = [];

function turn(downCount: number, from: number): void {
  monitors.forEach((monitor, at) => {
    const status = at >= from && at < from + downCount ? 'DOWN' : 'UP';
    if (monitor.status === status) return;
    changed.push(at);
    monitor.status = status;
    monitor.status_changes = (monitor.status_changes ?? 0) + 1;
    if (status === 'DOWN') monitor.status_reason = `answered 503 instead of 200-299 to GET (${at})`;
    else delete monitor.status_reason;
  });
  list = listed();
}

function paged(query: URLSearchParams): Buffer {
  // They are in the order of their ids.
  const from = monitors.findIndex(({ id }) => id > (query.get('after') ?? ''));
  const page = from < 0 ? [] : monitors.slice(from, from + Number(query.get('limit')));
  const last = page.at(-1);
  const next = last && last !== monitors.at(-1) ? last.id : null;
  return Buffer.from(JSON.stringify({ count: page.length, monitors: page, next }));
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  if (request.method === 'POST' && pathname === '/down') {
    turn(Number(searchParams.get('count')), Number(searchParams.get('from')));
    response.writeHead(204).end();
    return;
  }
  if (tellsChanges && pathname === AddedPath.changes) {
    const some = new Set(changed.slice(Number(searchParams.get('after'))));
    const news = [...some].map((at) => monitors[at]);
    const cursor = String(changed.length);
    send(Buffer.from(JSON.stringify({ count: news.length, monitors: news, removed: [], cursor })));
    return;
  }
  // Only the contract's route exists.
  if (pathname !== MonitoringPath.monitors) {
    response.writeHead(404).end();
    return;
  }
  send(tellsChanges && searchParams.has('limit') ? paged(searchParams) : list);

  function send(bytes: Buffer) {
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': bytes.length,
      ...(tellsChanges && { [CURSOR_HEADER]: String(changed.length) }),
    });
    response.end(bytes);
  }
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}.\n`);
});
process.once('SIGTERM', () => process.exit(0));
