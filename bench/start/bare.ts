import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';

// The least that a Node service with a server and a log needs to start.
const log = pino({ level: 'warn' });
const server = createServer((_request, response) => {
  log.debug('asked');
  response.end('fine');
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listens at port ${(server.address() as AddressInfo).port}\n`);
});
process.once('SIGTERM', () => server.close());
