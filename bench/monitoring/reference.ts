// The best that Node can do: bare loops without storage. They send GET requests with undici on a new connection each, look up names
// with one node:dns resolver, and open connections with node:net and node:tls. The bench starts it with the targets.
// `GET /run?loop=https&perSecond=100&ms=3000` runs a loop for that time and returns the number of requests.
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { Agent, request } from 'undici';
import { runSteadily } from './steadily.ts';

const MAX_NAMES = 10_000;

const addresses = JSON.parse(process.argv[2] ?? '') as Record<'http' | 'https', string[]> & {
  resolver: string;
};

// One context for all, and no session resumed: whole handshakes, at their cheapest.
const secureContext = createSecureContext();
const dispatcher = new Agent({ connect: { secureContext, maxCachedSessions: 0 } });

const resolver = new Resolver();
resolver.setServers([addresses.resolver]);

function getPage(scheme: 'http' | 'https') {
  const hosts = addresses[scheme];
  return async (number: number) => {
    const url = `${scheme}://${hosts[number % hosts.length]}/`;
    const answer = await request(url, { dispatcher, reset: true });
    await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`);
  };
}

async function lookUp(number: number) {
  const name = `m${number % MAX_NAMES}.bench.test`;
  const found = await resolver.resolve4(name);
  if (found.length !== 1) throw new Error(`${name} has ${found.length} addresses`);
}

/** Opens a connection and closes it. */
async function openPort(number: number) {
  const [host = '', port] = (addresses.http[number % addresses.http.length] ?? '').split(':');
  const socket = connect({ host, port: Number(port) });
  await once(socket, 'connect');
  socket.destroy();
}

/** Shakes hands as a client that trusts nobody blindly, and reads when the server's certificate ends. */
async function shakeHands(number: number) {
  const [host = '', port] = (addresses.https[number % addresses.https.length] ?? '').split(':');
  const socket = connectTls({ host, port: Number(port), secureContext });
  await once(socket, 'secureConnect');
  const ends = Date.parse(socket.getPeerX509Certificate()?.validTo ?? '');
  if (!socket.authorized || Number.isNaN(ends)) throw new Error(`${host} is not trusted`);
  socket.destroy();
}

const LOOPS = {
  ...{ http: getPage('http'), https: getPage('https'), dns: lookUp },
  ...{ tcp: openPort, tls: shakeHands },
};

const control = createServer((asked, response) => {
  const { searchParams } = new URL(asked.url ?? '', 'http://127.0.0.1');
  const ask = LOOPS[searchParams.get('loop') as keyof typeof LOOPS];
  runSteadily(ask, Number(searchParams.get('perSecond')), Number(searchParams.get('ms'))).then(
    (result) => void response.end(JSON.stringify(result)),
    (error: unknown) => void response.writeHead(500).end(String(error)),
  );
});
control.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(control.address() as AddressInfo).port}.\n`);
});
process.once('SIGTERM', () => process.exit(0));
// The bench holds the other end: when it is gone, so is this.
process.stdin.resume().once('end', () => process.exit(0));
