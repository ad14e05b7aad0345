// A monitoring service that costs little: its list is made before it is asked for. Started by the bench with the number
// of monitors; `POST /down?count=10` has so many DOWN and the others UP.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Monitor, MonitoringPath } from '../../src/contracts/monitoring.ts';

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

function turn(downCount: number): void {
  monitors.forEach((monitor, at) => {
    const status = at < downCount ? 'DOWN' : 'UP';
    if (monitor.status === status) return;
    monitor.status = status;
    monitor.status_changes = (monitor.status_changes ?? 0) + 1;
    if (status === 'DOWN') monitor.status_reason = `answered 503 instead of 200-299 to GET (${at})`;
    else delete monitor.status_reason;
  });
  list = listed();
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  if (request.method === 'POST' && pathname === '/down') {
    turn(Number(searchParams.get('count')));
    response.writeHead(204).end();
    return;
  }
  // Nothing beyond the contract.
  if (pathname !== MonitoringPath.monitors) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': list.length });
  response.end(list);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}.\n`);
});
process.once('SIGTERM', () => process.exit(0));
