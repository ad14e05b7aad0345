import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createNameLookup } from '../../../src/monitoring/checks/name-lookup.ts';
import { createAuthority, selfSigned } from '../../fakes/certificate.ts';
import { startDnsServer } from '../../fakes/dns-server.ts';
import { startRawTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { listen } from '../../helpers/http/listen.ts';
import { setUp } from '../../helpers/monitoring/checks.ts';

const DAY_MS = 86_400_000;
const authority = createAuthority();
const { certificate } = setUp({ ca: authority.pem });

/** In the middle of a day, so that days left are the same whenever the test runs on. */
const inDays = (days: number) => Date.now() + days * DAY_MS + 3_600_000;
const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** A server over TLS with this key and chain, which says nothing; gives its port. */
async function startTlsTarget(pem: string, options: tls.TlsOptions = {}): Promise<number> {
  const server = tls.createServer({ key: pem, cert: pem, ...options }, (socket) => {
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  return await listen(server);
}

const check = async (pem: string, config: object = {}) =>
  await certificate(`localhost:${await startTlsTarget(pem)}`, config);

describe('a certificate', () => {
  test('a good certificate is UP, and its end is stored', async () => {
    const untilMs = inDays(90);
    expect(await check(authority.issue({ untilMs }))).toEqual({
      ...{ ok: true, outcome: 'ok', responseTimeMs: expect.any(Number) },
      certificateEndsMs: Math.floor(untilMs / 1000) * 1000,
    });
  });

  test('the check asks for the certificate by its host name, or by another configured one', async () => {
    const names: string[] = [];
    const pem = authority.issue({ names: ['shop.example'] });
    const port = await startTlsTarget(pem, {
      SNICallback(name, done) {
        names.push(name);
        done(null);
      },
    });
    const config = { server_name: 'shop.example' };
    expect(await certificate(`localhost:${port}`)).toMatchObject({
      ...{ ok: false, outcome: 'tls', reason: 'the certificate is for another name' },
    });
    expect(await certificate(`127.0.0.1:${port}`, config)).toMatchObject({ ok: true });
    expect(names).toEqual(['localhost', 'shop.example']);
  });

  test.each([
    [20, {}, 'ok', undefined],
    [10, {}, 'expiring', 'the certificate expires in 10 days, on '],
    [20, { days_left: 30 }, 'expiring', 'the certificate expires in 20 days, on '],
    [10, { days_left: 0 }, 'ok', undefined],
    [10, { down_days: 5 }, 'expiring', 'the certificate expires in 10 days, on '],
    [3, { down_days: 5 }, 'tls', 'the certificate expires in 3 days, on '],
    [3, { days_left: 0, down_days: 5 }, 'tls', 'the certificate expires in 3 days, on '],
    [-3, {}, 'tls', 'the certificate expired on '],
  ])('that ends in %d days with %j is %s', async (days, config, outcome, reason) => {
    const untilMs = inDays(days);
    const result = await check(authority.issue({ untilMs }), config);
    expect(result).toMatchObject({ outcome, ok: outcome !== 'tls' });
    const after =
      outcome === 'tls' && days > 0 ? '; it must be valid for at least 5 more days' : '';
    expect(result.reason).toBe(reason && `${reason}${day(untilMs)}${after}`);
    expect(result.certificateEndsMs).toBe(Math.floor(untilMs / 1000) * 1000);
  });

  test.each([
    ['self-signed', () => selfSigned(), 'the certificate is self-signed'],
    [
      'of an unknown issuer',
      () => createAuthority('Nobody').issue(),
      "the certificate's issuer is unknown",
    ],
    [
      'not yet valid',
      () => authority.issue({ fromMs: inDays(2) }),
      'the certificate is not valid before',
    ],
  ])('that is %s is DOWN, unless any is taken', async (_what, issue, reason) => {
    const pem = issue();
    const result = await check(pem);
    expect(result).toMatchObject({ ok: false, outcome: 'tls' });
    expect(result.reason).toContain(reason);
    expect(await check(pem, { ignore_tls: true })).toMatchObject({ ok: true, outcome: 'ok' });
  });

  test('an expired certificate is DOWN even if any certificate is accepted', async () => {
    const any = { ignore_tls: true };
    const ended = await check(selfSigned({ names: ['x.example'], untilMs: inDays(-2) }), any);
    expect(ended.reason).toBe(`the certificate expired on ${day(inDays(-2))}`);
    const soon = await check(selfSigned({ names: ['x.example'], untilMs: inDays(2) }), any);
    expect(soon).toMatchObject({ ok: true, outcome: 'expiring' });
  });
});

describe('a chain', () => {
  test('a chain ends with its first certificate, which the reason names', async () => {
    const untilMs = inDays(6);
    const between = authority.below('Between\u202e <@U1>', { untilMs }).below('Lower');
    const pem = between.issue({ untilMs: inDays(60) });
    const result = await check(pem);
    expect(result).toMatchObject({ ok: true, outcome: 'expiring' });
    expect(result.reason).toBe(
      `the intermediate certificate “Between <@U1>” expires in 6 days, on ${day(untilMs)}`,
    );
    expect(result.certificateEndsMs).toBe(Math.floor(untilMs / 1000) * 1000);
    const down = await check(pem, { down_days: 7 });
    expect(down).toMatchObject({ ok: false, outcome: 'tls' });
    expect(down.reason).toMatch(/^the intermediate .*; it must be valid for at least 7 more days$/);
  });

  test('the chain is judged in any order', async () => {
    const untilMs = inDays(6);
    const between = authority.below('Upper', { untilMs }).below('Lower');
    const [key = '', own = '', lower = '', upper = ''] = between
      .issue()
      .split(/(?=-----BEGIN CERTIFICATE)/);
    const result = await check([key, own, upper, lower].join(''));
    expect(result.reason).toContain('the intermediate certificate “Upper” expires in 6 days');
  });

  test('the reason names an expired intermediate certificate', async () => {
    const between = authority.below('Between', { untilMs: inDays(-6) });
    const result = await check(between.issue());
    expect(result).toMatchObject({ ok: false, outcome: 'tls' });
    const reason = `the intermediate certificate “Between” expired on ${day(inDays(-6))}`;
    expect(result.reason).toBe(reason);
    expect((await check(between.issue(), { ignore_tls: true })).reason).toBe(reason);
  });

  test('certificates after the one that a trusted root issued are ignored', async () => {
    // The root itself, signed by an older one and ended since: a cross-signature that nobody needs any more.
    const older = createAuthority('Older');
    const beyond = older.below('Test authority', { untilMs: inDays(-100) });
    const [, crossed = ''] = beyond.issue().split(/(?<=-----END CERTIFICATE-----\n)/);
    const pem = `${authority.below('Between').issue()}${crossed}`;
    expect(await check(pem)).toMatchObject({ ok: true, outcome: 'ok' });
    // Nor does a certificate count that has nothing to do with it.
    const alien = older.issue({ untilMs: inDays(1) }).split(/(?=-----BEGIN CERTIFICATE)/)[1];
    const [key, own, between] = authority
      .below('Between')
      .issue()
      .split(/(?=-----BEGIN CERTIFICATE)/);
    expect(await check(`${key}${own}${alien}${between}`)).toMatchObject({ outcome: 'ok' });
  });

  test('a chain without an intermediate certificate is DOWN', async () => {
    const [key = '', own = ''] = authority
      .below('Between')
      .issue()
      .split(/(?=-----BEGIN CERTIFICATE)/);
    expect((await check(`${key}${own}`)).reason).toMatch(
      /^the certificate's issuer is unknown, or an intermediate certificate is missing/,
    );
  });

  test('a chain of hundreds of certificates is refused or read quickly', async () => {
    const [own = '', ...above] = authority
      .below('Between', { untilMs: inDays(3) })
      .issue()
      .split(/(?=-----BEGIN CERTIFICATE)/);
    const rest = above.join('');
    const many = `${own}${rest}${rest.repeat(70)}`;
    expect(await check(many)).toMatchObject({ ok: true, outcome: 'expiring' });
    const tooMany = await check(`${own}${rest}${rest.repeat(400)}`);
    expect(tooMany).toMatchObject({ ok: false, outcome: 'tls' });
    expect(tooMany.reason).toMatch(/^the TLS handshake with 127\.0\.0\.1:\d+ failed \(ERR_SSL_/);
  });
});

/** Speaks a protocol in plain text, up to TLS; `steps` says what is answered to what. */
async function startPlain(
  greeting: string | undefined,
  answer: (said: string) => string | undefined,
  pem = authority.issue(),
) {
  const said: string[] = [];
  const target = await startRawTarget((socket: Socket) => {
    if (greeting !== undefined) socket.write(greeting);
    const onData = (bytes: Buffer) => {
      said.push(bytes.toString('latin1'));
      const text = answer(bytes.toString('latin1'));
      if (text === undefined) return;
      if (text.startsWith('TLS')) socket.off('data', onData);
      socket.write(text.replace(/^TLS/, ''));
      if (!text.startsWith('TLS')) return;
      const secure = new tls.TLSSocket(socket, {
        isServer: true,
        secureContext: tls.createSecureContext({ key: pem, cert: pem }),
      });
      secure.on('error', () => {});
    };
    socket.on('data', onData);
  });
  return { ...target, said };
}

const SMTP = (line: string) =>
  line.startsWith('EHLO')
    ? '250-mail.example greets\r\n250-SIZE 1000\r\n250 STARTTLS\r\n'
    : 'TLS220 Go ahead\r\n';

describe('STARTTLS', () => {
  test('SMTP begins TLS with STARTTLS', async () => {
    const greeting = '220-mail.example\r\n220 ESMTP\r\n';
    const target = await startPlain(greeting, SMTP, authority.issue({ untilMs: inDays(5) }));
    const config = { starttls: 'smtp' };
    expect(await certificate(`localhost:${target.port}`, config)).toMatchObject({
      ...{ ok: true, outcome: 'expiring', certificateEndsMs: expect.any(Number) },
    });
    expect(target.said).toEqual(['EHLO askwatch\r\n', 'STARTTLS\r\n']);
    await eventually(() => target.closed() === 1);
  });

  test('IMAP begins TLS with STARTTLS', async () => {
    const target = await startPlain(
      '* OK [CAPABILITY IMAP4rev1 STARTTLS] ready\r\n',
      () => 'TLS* CAPABILITY IMAP4rev1\r\na1 OK begin TLS\r\n',
    );
    const config = { starttls: 'imap' };
    expect(await certificate(`localhost:${target.port}`, config)).toMatchObject({ ok: true });
    expect(target.said).toEqual(['a1 STARTTLS\r\n']);
  });

  test('PostgreSQL begins TLS with an SSLRequest', async () => {
    const target = await startPlain(undefined, () => 'TLSS');
    const config = { starttls: 'postgres' };
    expect(await certificate(`localhost:${target.port}`, config)).toMatchObject({ ok: true });
    expect(target.said).toEqual(['\x00\x00\x00\x08\x04\xd2\x16\x2f']);
  });

  test('name and issuer are verified after STARTTLS too', async () => {
    const target = await startPlain('220 x\r\n', SMTP, createAuthority('Nobody').issue());
    const result = await certificate(`localhost:${target.port}`, { starttls: 'smtp' });
    expect(result).toMatchObject({ ok: false, outcome: 'tls' });
  });

  test.each([
    [
      'smtp',
      '554 no service for <@U1>\r\n',
      SMTP,
      /^it answered “554 no service for <@U1>” to the connection$/,
    ],
    ['smtp', 'SSH-2.0-x\r\n', SMTP, /^it does not speak SMTP: it said “SSH-2.0-x”$/],
    ['smtp', '220 x\r\n', () => '250 SIZE\r\n', /^it does not offer STARTTLS$/],
    ['smtp', '220 x\r\n', () => '502 what?\r\n', /^it answered “502 what\?” to EHLO$/],
    [
      'smtp',
      '220 x\r\n',
      (said: string) => (said.startsWith('EHLO') ? '250 STARTTLS\r\n' : '454 not now\r\n'),
      /^it answered “454 not now” to STARTTLS$/,
    ],
    ['imap', '* BYE busy\r\n', () => '', /^it answered “\* BYE busy” to the connection$/],
    ['imap', '220 x\r\n', () => '', /^it does not speak IMAP: it said “220 x”$/],
    ['imap', '* OK\r\n', () => 'a1 BAD no\r\n', /^it answered “BAD no” to STARTTLS$/],
    ['imap', '* OK\r\n', () => '+ go on\r\n', /^it does not speak IMAP: it said “\+ go on”$/],
    ['postgres', undefined, () => 'N', /^it does not offer TLS$/],
    ['postgres', undefined, () => 'E', /^it does not answer like PostgreSQL$/],
    // Plain text after the agreement would pass for text over TLS.
    ['postgres', undefined, () => 'Sx', /sent more plain text after it agreed to TLS$/],
    [
      'smtp',
      '220 x\r\n',
      (said: string) =>
        said.startsWith('EHLO') ? '250 STARTTLS\r\n' : '220 go\r\n250 injected\r\n',
      /sent more plain text after it agreed to TLS$/,
    ],
    ['postgres', undefined, () => 'TLSS\r\nno TLS at all', /sent more plain text/],
  ] as const)('of %s after %j fails with words', async (starttls, greeting, answer, reason) => {
    const target = await startPlain(greeting, answer);
    const result = await certificate(`localhost:${target.port}`, { starttls });
    expect(result).toMatchObject({ ok: false, outcome: 'protocol' });
    expect(result.reason).toMatch(reason);
    await eventually(() => target.closed() === 1);
  });

  test('each protocol fails if the server closes the connection or says nothing', async () => {
    const closing = await startRawTarget((socket) => socket.end());
    const silent = await startRawTarget(() => {});
    const protocols = ['smtp', 'imap', 'postgres'];
    const results = protocols.map(async (starttls) => {
      const closed = await certificate(`localhost:${closing.port}`, { starttls });
      expect(closed).toMatchObject({ ok: false, outcome: 'connection' });
      expect(closed.reason).toMatch(/closed the connection before TLS began$/);
      const config = { starttls, timeout_seconds: 1 };
      expect(await certificate(`localhost:${silent.port}`, config)).toMatchObject({
        ...{ ok: false, outcome: 'timeout' },
        reason: `no reply to STARTTLS from 127.0.0.1:${silent.port} within 1 s`,
      });
    });
    await Promise.all(results);
    await eventually(() => silent.closed() === protocols.length);
  });

  test.each([
    ['smtp', '220-and more\r\n'],
    ['smtp', 'x'],
    ['imap', '* OK and more\r\n'],
    ['imap', 'x'],
  ])('of %s with a server that says %j for ever', async (starttls, piece) => {
    const chunk = Buffer.from(piece.repeat(1_000));
    const target = await startRawTarget((socket) => {
      const more = () => {
        while (!socket.destroyed && socket.writable) if (!socket.write(chunk)) return;
      };
      socket.on('drain', more);
      more();
    });
    const result = await certificate(`localhost:${target.port}`, { starttls });
    expect(result).toMatchObject({ ok: false, outcome: 'protocol' });
    expect(result.reason).toMatch(/keeps sending text and does not start TLS$/);
    await eventually(() => target.closed() === 1);
  });
});

test('a check fails if the server speaks plain text, closes, or says nothing', async () => {
  const plain = await startRawTarget((socket) => socket.write('220 mail.example ESMTP\r\n'));
  const closing = await startRawTarget((socket) => socket.end());
  const silent = await startRawTarget(() => {});
  const [spoken, closed, said] = await Promise.all(
    [plain, closing, silent].map(({ port }) =>
      certificate(`localhost:${port}`, { timeout_seconds: 1 }),
    ),
  );
  expect(spoken?.reason).toMatch(/^127\.0\.0\.1:\d+ does not speak TLS \(ERR_SSL_/);
  expect(closed?.reason).toMatch(/closed the connection in the TLS handshake after \d+ ms$/);
  expect(said?.reason).toMatch(/^no TLS handshake with 127\.0\.0\.1:\d+ within 1 s$/);
});

describe('an address that is not allowed', () => {
  test.each(['127.0.0.2', '[::1]', '127.2:8443', '169.254.169.254', '[::ffff:127.0.0.2]'])(
    'is not reached: %s',
    async (target) => {
      expect(await certificate(target)).toMatchObject({ ok: false, outcome: 'blocked' });
    },
  );

  test.each(['none', 'smtp'])(
    'is not reached behind a name that changes its answer, with starttls %s',
    async (starttls) => {
      let heard = 0;
      const server = net.createServer((socket) => {
        heard += 1;
        socket.destroy();
      });
      const port = await listen(server, '127.0.0.2');
      const answers = ['127.0.0.1', '127.0.0.2'];
      const dns = await startDnsServer(({ type }) =>
        type === 'A' ? [[answers.shift() ?? '']] : [],
      );
      const { certificate } = setUp({ lookup: createNameLookup({ servers: [dns.address] }) });
      const at = `rebind.example:${port}`;
      expect(await certificate(at, { starttls })).toMatchObject({ outcome: 'connection' });
      expect(await certificate(at, { starttls })).toMatchObject({ outcome: 'blocked' });
      expect(heard).toBe(0);
      expect(dns.questions).toHaveLength(4);
    },
  );
});
