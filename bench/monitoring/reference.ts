// What Node can do at best: a bare loop of GETs over undici, a new connection for each, that keeps nothing. Started by
// the bench with the addresses to ask. `GET /run?scheme=https&ms=3000` asks for so long and tells how often.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { Agent, request } from 'undici';

const LANES = 32;

const addresses = JSON.parse(process.argv[2] ?? '') as Record<'http' | 'https', string[]>;

// One context for all, and no session resumed: whole handshakes, at their cheapest.
const dispatcher = new Agent({
  connect: { secureContext: createSecureContext(), maxCachedSessions: 0 },
});

async function run(scheme: 'http' | 'https', ms: number) {
  const hosts = addresses[scheme];
  const endMs = performance.now() + ms;
  let asked = 0;
  let done = 0;
  async function ask() {
    while (performance.now() < endMs) {
      asked += 1;
      const url = `${scheme}://${hosts[asked % hosts.length]}/`;
      const answer = await request(url, { dispatcher, reset: true });
      await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}`);
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
  const scheme = searchParams.get('scheme') === 'https' ? 'https' : 'http';
  run(scheme, Number(searchParams.get('ms'))).then(
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
