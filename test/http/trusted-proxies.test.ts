import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type AddressFor, createPublicAddress } from '../../src/http/public-address.ts';
import { createTrustedProxies, isProxyNetwork } from '../../src/http/trusted-proxies.ts';
import { runningServer } from '../helpers/http/running-server.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import type { AtEnd } from '../helpers/temporary-folder.ts';

const PROXIES = ['127.0.0.1/32', '10.0.0.0/8', 'fd00::/64'];

/** A server that tells who asks: by a route of Fastify, and by one that goes past it. */
async function telling(trustedProxies: readonly string[] = [], atEnd: AtEnd = onTestFinished) {
  const addressFor: AddressFor = createPublicAddress({
    ...{ publicUrl: undefined, isOpen: false, listening: () => 'http://127.0.0.1:3000' },
  });
  const running = await runningServer(
    ({ server, addDirectRoute }) => {
      server.get('/who', (request) => ({ ip: request.ip, address: addressFor(request) }));
      addDirectRoute({
        path: '/direct',
        schema: {},
        handle({ response, ip }) {
          response.end(JSON.stringify({ ip }));
          return undefined;
        },
      });
    },
    { trustedProxies },
    atEnd,
  );
  return {
    ...running,
    /** The client according to both routes, and to the direct one in another spelling. */
    async askedBy(lines: string[]) {
      const asked = ['GET /who', 'POST /direct', 'POST /direct?a=1'].map(async (target) => {
        const head = [`${target} HTTP/1.1`, 'Host: x', 'Connection: close', 'Content-Length: 0'];
        const answer = await running.sendRaw(`${[...head, ...lines].join('\r\n')}\r\n\r\n`);
        return JSON.parse(/\{.*\}/.exec(answer)?.[0] ?? '{}') as { ip: string; address: string };
      });
      const [who, ...direct] = await Promise.all(asked);
      expect(direct.map(({ ip }) => ip)).toEqual([who?.ip, who?.ip]);
      return who;
    },
  };
}

const LONG = 'x'.repeat(10_000);

let behindProxies: Awaited<ReturnType<typeof telling>>;
beforeAll(async () => {
  behindProxies = await telling(PROXIES, afterAll);
});

describe('the address of who asks', () => {
  test.each([
    [[], '127.0.0.1'],
    [['192.0.2.7'], '192.0.2.7'],
    [['  192.0.2.7\t'], '192.0.2.7'],
    [['2001:db8::7'], '2001:db8::7'],
    // The caller wrote the entries further left.
    [['203.0.113.9, 192.0.2.7'], '192.0.2.7'],
    [['127.0.0.1, 10.1.1.1, 192.0.2.7'], '192.0.2.7'],
    [['203.0.113.9', '192.0.2.7'], '192.0.2.7'],
    // Several proxies of ours, one behind another.
    [['203.0.113.9, 192.0.2.7, fd00::5,10.0.0.5'], '192.0.2.7'],
    [['192.0.2.7, 10.0.0.5, 203.0.113.9, 10.0.0.6'], '203.0.113.9'],
    [['10.0.0.1, 10.0.0.2'], '10.0.0.1'],
    // Other ways to write it.
    [['192.0.2.7:5678'], '192.0.2.7'],
    [['[2001:db8::7]:443'], '2001:db8::7'],
    [['[2001:db8::7]'], '2001:db8::7'],
    [['2001:0DB8:0::0007'], '2001:db8::7'],
    [['::ffff:192.0.2.7'], '192.0.2.7'],
    [['192.0.2.7, ::ffff:10.0.0.5'], '192.0.2.7'],
    [['192.0.2.7, 10.0.0.5:80'], '192.0.2.7'],
    // An unreadable entry ends the chain at the last known address.
    [['unknown'], '127.0.0.1'],
    [['192.0.2.7, unknown'], '127.0.0.1'],
    [['192.0.2.7, unknown, 10.0.0.5'], '10.0.0.5'],
    [['192.0.2.7,'], '127.0.0.1'],
    [[''], '127.0.0.1'],
    [[',,,'], '127.0.0.1'],
    [['1.2.3'], '127.0.0.1'],
    [['192.0.2.7:port'], '127.0.0.1'],
    [['<script>alert(1)</script>'], '127.0.0.1'],
    [[LONG], '127.0.0.1'],
    [[`${LONG}, 192.0.2.7`], '192.0.2.7'],
    [[`192.0.2.7${', 10.0.0.5'.repeat(1_000)}`], '10.0.0.5'],
    [[',192.0.2.7'.repeat(1_000)], '192.0.2.7'],
  ])('from a trusted proxy that says %j is %s', async (said, address) => {
    const { askedBy, lines } = behindProxies;
    const headers = said.map((one) => `X-Forwarded-For: ${one}`);
    expect((await askedBy(headers))?.ip).toBe(address);
    expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  test.each(['::ffff:127.0.0.1', '::ffff:7f00:1'])(
    'is told by a proxy on a socket for both families, seen as %s',
    (remoteAddress) => {
      const { log } = recordingLog();
      const request: unknown = {
        headers: { 'x-forwarded-for': '192.0.2.7' },
        socket: { remoteAddress },
      };
      for (const networks of [['127.0.0.1'], ['127.0.0.0/8'], ['::ffff:127.0.0.0/104']]) {
        const { addressOf } = createTrustedProxies(networks, log);
        expect(addressOf(structuredClone(request) as IncomingMessage)).toBe('192.0.2.7');
      }
      const { addressOf } = createTrustedProxies(['::1', '::/1'], log);
      expect(addressOf(request as IncomingMessage)).toBe(remoteAddress);
    },
  );

  test('is that of the connection when nobody is trusted, which the log says once', async () => {
    for (const trusted of [[], ['10.0.0.0/8', '::1']]) {
      const { askedBy, lines } = await telling(trusted);
      for (const header of ['For: 192.0.2.7', 'Proto: https', 'Host: ask.example.com']) {
        expect(await askedBy([`X-Forwarded-${header}`])).toEqual({
          ...{ ip: '127.0.0.1', address: 'http://127.0.0.1:3000' },
        });
      }
      const warned = lines.filter(({ level }) => Number(level) >= 40);
      expect(warned).toEqual([expect.objectContaining({ proxy: '127.0.0.1' })]);
      expect(warned[0]?.msg).toContain('TRUSTED_PROXIES');
    }
  });
});

test.each([
  [['Host: ask.example.com'], 'https://ask.example.com'],
  [['Host: evil.example, ask.example.com:8443'], 'https://ask.example.com:8443'],
  [['Proto: http'], 'http://127.0.0.1:3000'],
  [['Proto: http', 'Host: ask.example.com'], 'http://ask.example.com'],
  [['Proto: http, HTTPS', 'Host: ask.example.com'], 'https://ask.example.com'],
  [['Proto: javascript', 'Host: ask.example.com'], 'http://ask.example.com'],
  [['Host: a"onload="x'], 'http://127.0.0.1:3000'],
  [['Host: '], 'https://x'],
  [['Host: ,'], 'http://127.0.0.1:3000'],
  // The proxy has left the name as it was.
  [[], 'https://x'],
])('a trusted proxy that says %j is believed: addresses begin with %s', async (said, address) => {
  const { askedBy } = behindProxies;
  const proto = said.some((one) => one.startsWith('Proto')) ? [] : ['X-Forwarded-Proto: https'];
  const headers = [...proto, ...said.map((one) => `X-Forwarded-${one}`)];
  expect((await askedBy(headers))?.address).toBe(address);
});

test.each([
  ...['', ' ', 'localhost', 'proxy.example.com', '10.0.0.0/0', '::/0', '10.0.0.0/33', 'fd00::/129'],
  ...[
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0/255.0.0.0',
    '10/8',
    '10.0.0',
    '1e1.0.0.1',
  ],
  ...['::ffff:0:0/96', '::ffff:10.0.0.1/8', 'fe80::1%eth0', '10.0.0.1:80', '[::1]', 'loopback'],
])('%j is no network of proxies', (text) => {
  expect(isProxyNetwork(text)).toBe(false);
  expect(() => createTrustedProxies([text], recordingLog().log)).toThrow();
});
