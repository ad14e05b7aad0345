// What Node can do at best: bare loops that keep nothing, of GETs over undici, a new connection for each, and of look-ups
// with one resolver of node:dns. Started by the bench with the addresses to ask.
// `GET /run?loop=https&perSecond=100&ms=3000` asks for so long and tells how often.
import { Resolver } from 'node:dns/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { Agent, request } from 'undici';

/** Asked for at a time, at most. */
const LANES = 32;

const MAX_NAMES = 10_000;

const addresses = JSON.parse(process.argv[2] ?? '') as Record<'http' | 'https', string[]> & {
  resolver: string;
};

// One context for all, and no session resumed: whole handshakes, at their cheapest.
const dispatcher = new Agent({
  connect: { secureContext: createSecureContext(), maxCachedSessions: 0 },
});

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

const LOOPS = { http: getPage('http'), https: getPage('https'), dns: lookUp };

/** At a steady rate: flat out, each wake of the event loop would be shared by many, which no service has. */
async function run(once: (number: number) => Promise<void>, perSecond: number, ms: number) {
  const startMs = performance.now();
  let asked = 0;
  let done = 0;
  async function ask() {
    for (;;) {
      const number = asked;
      const dueMs = (number * 1000) / perSecond;
      if (Math.max(dueMs, performance.now() - startMs) >= ms) return;
      asked += 1;
      await pause(startMs + dueMs - performance.now());
      await once(number);
      done += 1;
    }
  }
  await Promise.all(Array.from({ length: LANES }, ask));
  // What closing the last connections costs belongs to it.
  await pause(20);
  return { done };
}

const control = createServer((asked, response) => {
  const { searchParams } = new URL(asked.url ?? '', 'http://127.0.0.1');
  const once = LOOPS[searchParams.get('loop') as keyof typeof LOOPS];
  run(once, Number(searchParams.get('perSecond')), Number(searchParams.get('ms'))).then(
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
