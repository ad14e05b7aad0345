// Targets of the monitors: pages over HTTP and TLS, pages that never respond, and a resolver. Responses are cheap, and the time of
// each check is recorded. The bench starts it with the certificate file.
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { createArrivals } from './arrivals.ts';
import { startResolver } from './dns.ts';
import { HOSTS, PAGE_TEXT, RESOLVER_HOST, type Upstream } from './hosts.ts';

const LONGEST_REQUEST_CHARACTERS = 8_192;

const PAGE = [
  'HTTP/1.1 200 OK',
  'Content-Type: text/plain; charset=utf-8',
  `Content-Length: ${Buffer.byteLength(PAGE_TEXT)}`,
  'Connection: close',
  '',
  PAGE_TEXT,
].join('\r\n');

const arrivals = createArrivals();

/** Writes down which monitor asks, and hands on to `answer` once the request is whole. */
function onRequest(answer: (socket: Socket) => void) {
  return (socket: Socket) => {
    let asked = '';
    socket.on('data', (bytes) => {
      if (asked.includes('\r\n\r\n')) return;
      asked += bytes.toString('latin1');
      if (asked.length > LONGEST_REQUEST_CHARACTERS) return void socket.destroy();
      if (!asked.includes('\r\n\r\n')) return;
      const monitor = /^[A-Z]+ \/m\/(\d+) /.exec(asked)?.[1];
      if (monitor !== undefined) arrivals.add(Number(monitor));
      answer(socket);
    });
    socket.on('error', () => socket.destroy());
  };
}

const respond = onRequest((socket) => socket.end(PAGE));
const stayAway = onRequest(() => {});
const pem = readFileSync(process.argv[2] ?? '', 'utf8');

async function listen(
  hosts: readonly string[],
  start: () => ReturnType<typeof createTcpServer>,
): Promise<string[]> {
  return await Promise.all(
    hosts.map(
      (host) =>
        new Promise<string>((resolve, reject) => {
          const server = start().once('error', reject);
          server.listen({ host, port: 0, backlog: 1024 }, () =>
            resolve(`${host}:${(server.address() as AddressInfo).port}`),
          );
        }),
    ),
  );
}

const secure = () => {
  const server = createTlsServer({ key: pem, cert: pem }, respond);
  // Aborted handshakes are expected.
  server.on('tlsClientError', () => {});
  return server;
};

const resolverPort = await startResolver({
  host: RESOLVER_HOST,
  onQuestion: (label) => arrivals.add(Number(label.slice(1))),
});
const upstream: Upstream = {
  http: await listen(HOSTS.http, () => createTcpServer({ noDelay: true }, respond)),
  https: await listen(HOSTS.https, secure),
  silent: await listen(HOSTS.silent, () => createTcpServer(stayAway)),
  resolver: `${RESOLVER_HOST}:${resolverPort}`,
};

const sendJson = (response: ServerResponse, value: unknown) =>
  void response.setHeader('content-type', 'application/json').end(JSON.stringify(value));

const control = createServer((request, response) => {
  switch (`${request.method} ${request.url}`) {
    case 'GET /addresses':
      return sendJson(response, upstream);
    case 'GET /seen':
      return sendJson(response, arrivals.seen());
    case 'GET /arrivals':
      return sendJson(response, arrivals.all());
    case 'POST /forget':
      arrivals.forget();
      return sendJson(response, {});
    default:
      response.writeHead(404).end();
  }
});
control.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(control.address() as AddressInfo).port}.\n`);
});
process.once('SIGTERM', () => process.exit(0));
// The bench holds the other end: when it is gone, so is this.
process.stdin.resume().once('end', () => process.exit(0));
