import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createNameLookup } from '../../../src/monitoring/checks/name-lookup.ts';
import { createAuthority } from '../../fakes/certificate.ts';
import { startDnsServer } from '../../fakes/dns-server.ts';
import { closedPort, startRawTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { listen } from '../../helpers/http/listen.ts';
import { setUp } from '../../helpers/monitoring/checks.ts';

const { tcp } = setUp();
const authority = createAuthority();

/** Answers each line as a server of a cache does. */
const cache = (socket: Socket) =>
  socket.on('data', (bytes) => {
    const line = String(bytes);
    socket.write(line === 'PING\r\n' ? '+PONG\r\n' : `-ERR unknown command '${line.trim()}'\r\n`);
  });

/** A server over TLS that says `hello`; gives its port and the names that it was asked for. */
async function startTlsTarget(pem: string, hello = 'hello\r\n') {
  const names: string[] = [];
  const server = tls.createServer(
    {
      ...{ key: pem, cert: pem },
      SNICallback(name, done) {
        names.push(name);
        done(null);
      },
    },
    (socket) => {
      socket.on('error', () => {});
      socket.write(hello);
    },
  );
  server.on('tlsClientError', () => {});
  return { names, port: await listen(server) };
}

describe('a port', () => {
  test('a port that accepts the connection is UP, and the connection is closed', async () => {
    const target = await startRawTarget(() => {});
    expect(await tcp(`127.0.0.1:${target.port}`)).toEqual({
      ok: true,
      outcome: 'ok',
      responseTimeMs: expect.any(Number),
    });
    expect(await tcp(`tcp://localhost:${target.port}/`)).toMatchObject({ ok: true });
    await eventually(() => target.closed() === 2);
  });

  test('a port is reached over IPv6', async () => {
    const { tcp } = setUp({ allow: ['::1'] });
    const port = await listen(
      net.createServer((socket) => socket.destroy()),
      '::1',
    );
    expect(await tcp(`[::1]:${port}`)).toMatchObject({ ok: true });
    expect(await tcp(`[0:0:0:0:0:0:0:1]:${port}`)).toMatchObject({ ok: true });
  });

  test('the reason names host and port if nothing listens', async () => {
    const port = await closedPort();
    const result = await tcp(`localhost:${port}`);
    expect(result).toMatchObject({ ok: false, outcome: 'connection' });
    expect(result.reason).toMatch(
      new RegExp(
        `^nothing listens on port ${port} of localhost: connection refused by 127\\.0\\.0\\.1:${port} after \\d+ ms$`,
      ),
    );
  });

  test('the reason says that a name does not exist', async () => {
    const dns = await startDnsServer(() => 'NXDOMAIN');
    const { tcp } = setUp({ lookup: createNameLookup({ servers: [dns.address] }) });
    expect(await tcp('db.example:5432')).toMatchObject({ ok: false, outcome: 'name' });
  });
});

describe('what is sent and expected', () => {
  test.each([
    ['PING\r\n', 'PONG'],
    ['PING\\r\\n', '+PONG\\r\\n'],
    ['\\x50ING\\x0d\\x0A', 'PONG'],
  ])('%j is answered with %j', async (send, wanted) => {
    const target = await startRawTarget(cache);
    const config = { send, expect: wanted };
    expect(await tcp(`127.0.0.1:${target.port}`, config)).toMatchObject({ ok: true });
  });

  test('sent and expected bytes may be binary, and contain a backslash', async () => {
    const heard: Buffer[] = [];
    const target = await startRawTarget((socket) =>
      socket.on('data', (bytes) => {
        heard.push(bytes);
        socket.end(Buffer.from([0xff, 0x00, 0x53]));
      }),
    );
    const config = { send: '\\x00\\xff\\\\n\\t', expect: '\\xff\\x00S' };
    expect(await tcp(`127.0.0.1:${target.port}`, config)).toMatchObject({ ok: true });
    expect(Buffer.concat(heard)).toEqual(Buffer.from([0x00, 0xff, 0x5c, 0x6e, 0x09]));
  });

  test('the text is sent even if no answer is expected', async () => {
    const heard: string[] = [];
    const target = await startRawTarget((socket) =>
      socket.on('data', (bytes) => heard.push(String(bytes))),
    );
    expect(await tcp(`127.0.0.1:${target.port}`, { send: 'stat\\n' })).toMatchObject({ ok: true });
    await eventually(() => heard.join('') === 'stat\n');
  });

  test('the expected text is found across pieces', async () => {
    const target = await startRawTarget((socket) => {
      socket.setNoDelay();
      for (const [at, letter] of [...'SSH-2.0-x\r\n'].entries()) {
        setTimeout(() => socket.write(letter), at);
      }
    });
    expect(await tcp(`127.0.0.1:${target.port}`, { expect: '2.0-x' })).toMatchObject({ ok: true });
  });

  test('the reason quotes an answer without the expected text', async () => {
    const target = await startRawTarget((socket) => socket.end('-LOADING the\tdata\r\n'));
    expect(await tcp(`127.0.0.1:${target.port}`, { expect: 'PONG' })).toMatchObject({
      ok: false,
      outcome: 'answer',
      reason: 'it answered “-LOADING the data”, which does not contain “PONG”',
    });
  });

  test.each([
    ['', /^127\.0\.0\.1:\d+ closed the connection without an answer$/],
    [`${'x'.repeat(70)}\r\n`, /^it answered “x{59}…”, which does not contain “PONG”$/],
    [
      'a\u202eb <!channel> @everyone\u0000',
      /^it answered “ab <!channel> @everyone”, which does not contain “PONG”$/,
    ],
    ['\r\n\r\n', /^it answered with 4 bytes of binary data, which does not contain “PONG”$/],
  ])('and %j is told in a few visible characters', async (answer, reason) => {
    const target = await startRawTarget((socket) => socket.end(answer));
    const result = await tcp(`127.0.0.1:${target.port}`, { expect: 'PONG' });
    expect(result).toMatchObject({ ok: false, outcome: 'answer' });
    expect(result.reason).toMatch(reason);
  });

  test('the reason hides sent text that a server repeats', async () => {
    const { port } = await startRawTarget(cache);
    const shout = await startRawTarget((socket) =>
      socket.on('data', (bytes) => socket.end(String(bytes).toUpperCase().slice(3, 14))),
    );
    const config = { send: 'AUTH s3cret-of-ops\\r\\n', expect: '+OK', timeout_seconds: 1 };
    const [whole, part] = await Promise.all([
      tcp(`127.0.0.1:${port}`, config),
      tcp(`127.0.0.1:${shout.port}`, config),
    ]);
    expect(whole.reason).toBe(
      "it answered “-ERR unknown command '…'”, which does not contain “+OK” within 1 s",
    );
    expect(part.reason).toBe('it answered “…”, which does not contain “+OK”');
  });
});

describe('over TLS', () => {
  const { tcp } = setUp({ ca: authority.pem, lookup: async () => ['127.0.0.1'] });

  test('a good certificate passes and is kept', async () => {
    const { port, names } = await startTlsTarget(authority.issue());
    expect(await tcp(`localhost:${port}`, { tls: true, expect: 'hello' })).toMatchObject({
      ok: true,
      outcome: 'ok',
      certificateEndsMs: expect.any(Number),
    });
    expect(names).toEqual(['localhost']);
  });

  test('another name is asked for and looked for where one is given', async () => {
    const { port, names } = await startTlsTarget(authority.issue({ names: ['db.example'] }));
    const wrong = await tcp(`localhost:${port}`, { tls: true });
    expect(wrong).toMatchObject({ outcome: 'tls', reason: 'the certificate is for another name' });
    const config = { tls: true, server_name: 'db.example' };
    expect(await tcp(`127.0.0.1:${port}`, config)).toMatchObject({ ok: true });
    expect(names).toEqual(['localhost', 'db.example']);
  });

  test('a certificate that ends soon makes it DEGRADED, and none where any is taken', async () => {
    const untilMs = Date.now() + 3 * 86_400_000 + 60_000;
    const { port } = await startTlsTarget(authority.issue({ untilMs }));
    const soon = await tcp(`localhost:${port}`, { tls: true });
    expect(soon).toMatchObject({ ok: true, outcome: 'expiring' });
    expect(soon.reason).toMatch(/^the certificate expires in 3 days, on /);
    const any = { tls: true, ignore_tls: true };
    expect(await tcp(`other.example:${port}`, any)).toMatchObject({ ok: true, outcome: 'ok' });
    const off = { tls: true, tls_expiry_days: 0 };
    expect(await tcp(`localhost:${port}`, off)).toMatchObject({ ok: true, outcome: 'ok' });
  });
});

describe('a hostile server', () => {
  const soon = { expect: 'PONG', timeout_seconds: 1 };

  test('a silent server is a timeout', async () => {
    const target = await startRawTarget(() => {});
    expect(await tcp(`127.0.0.1:${target.port}`, soon)).toMatchObject({
      outcome: 'timeout',
      reason: `no answer from 127.0.0.1:${target.port} within 1 s`,
    });
    const hung = await tcp(`127.0.0.1:${target.port}`, { tls: true, timeout_seconds: 1 });
    expect(hung.reason).toBe(`no TLS handshake with 127.0.0.1:${target.port} within 1 s`);
    await eventually(() => target.closed() === 2);
  });

  test('the timeout of a server that sends a byte now and then quotes its answer', async () => {
    const target = await startRawTarget((socket) => {
      const more = setInterval(() => socket.write('z'), 300);
      socket.once('close', () => clearInterval(more));
    });
    const result = await tcp(`127.0.0.1:${target.port}`, soon);
    expect(result.outcome).toBe('timeout');
    expect(result.reason).toMatch(/^it answered “z+”, which does not contain “PONG” within 1 s$/);
    await eventually(() => target.closed() === 1);
  });

  test('an endless answer is cut after 64 KB', async () => {
    const chunk = Buffer.alloc(1000, 'x');
    const target = await startRawTarget((socket) => {
      const more = () => {
        while (!socket.destroyed && socket.writable) if (!socket.write(chunk)) return;
      };
      socket.on('drain', more);
      more();
    });
    expect(await tcp(`127.0.0.1:${target.port}`, { expect: 'PONG' })).toMatchObject({
      outcome: 'answer',
      reason: '“PONG” is not in the first 64 KB of its answer; the rest was not read',
    });
    await eventually(() => target.closed() === 1);
  });

  test.each([
    [64 * 1024 - 4, true],
    [64 * 1024 - 3, false],
  ])('that says it after %d bytes: %s', async (before, ok) => {
    const target = await startRawTarget((socket) => socket.write(`${'P'.repeat(before)}PONG`));
    expect(await tcp(`127.0.0.1:${target.port}`, { expect: 'PONG' })).toMatchObject({ ok });
  });

  test('the reason says that the server closed the connection', async () => {
    const target = await startRawTarget((socket) => {
      socket.once('data', () => socket.resetAndDestroy());
    });
    const result = await tcp(`127.0.0.1:${target.port}`, { send: 'PING\\r\\n', expect: 'PONG' });
    expect(result).toMatchObject({ ok: false, outcome: 'connection' });
    expect(result.reason).toMatch(/closed the connection before the answer was complete$/);
  });
});

describe('an address that is not allowed', () => {
  test.each([
    '127.0.0.2:80',
    '[::1]:80',
    '127.2:80',
    '2130706434:80',
    '0x7f.2:80',
    '[::ffff:127.0.0.2]:80',
    '169.254.169.254:80',
  ])('is not reached: %s', async (target) => {
    const result = await tcp(target);
    expect(result).toMatchObject({ ok: false, outcome: 'blocked' });
    expect(result.reason).toBe('the address may not be checked (see MONITOR_ALLOW_PRIVATE)');
  });

  test('a forbidden address is not reached behind a name that changes its answer', async () => {
    const heard: number[] = [];
    const server = net.createServer((socket) => {
      heard.push(1);
      socket.destroy();
    });
    const port = await listen(server, '127.0.0.2');
    const allowed = await startRawTarget(() => {});
    const answers = ['127.0.0.1', '127.0.0.2', '127.0.0.1'];
    const dns = await startDnsServer(({ type }) => (type === 'A' ? [[answers.shift() ?? '']] : []));
    const { tcp } = setUp({ lookup: createNameLookup({ servers: [dns.address] }) });
    expect(await tcp(`rebind.example:${allowed.port}`)).toMatchObject({ ok: true });
    expect(await tcp(`rebind.example:${port}`)).toMatchObject({ ok: false, outcome: 'blocked' });
    expect(await tcp(`rebind.example:${port}`)).toMatchObject({ outcome: 'connection' });
    // One look-up of each kind a check: there is no second one whose answer nobody judged.
    expect(dns.questions).toHaveLength(6);
    expect(heard).toEqual([]);
  });
});
