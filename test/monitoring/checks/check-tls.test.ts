import tls from 'node:tls';
import { describe, expect, test } from 'vitest';
import { expiryWarning } from '../../../src/monitoring/checks/certificate.ts';
import { type CertificateWishes, createAuthority, selfSigned } from '../../fakes/certificate.ts';
import { startRawTarget, startWebTarget } from '../../fakes/web-target.ts';
import { listen } from '../../helpers/http/listen.ts';
import { setUp } from '../../helpers/monitoring/checks.ts';

const DAY_MS = 86_400_000;
const authority = createAuthority();
const { http } = setUp({ ca: authority.pem });

const inDays = (days: number) => Date.now() + days * DAY_MS;
/** Certificates know whole seconds. */
const wholeSeconds = (ms: number) => Math.floor(ms / 1000) * 1000;

async function startTls(wishes?: CertificateWishes) {
  return await startWebTarget(undefined, { tls: authority.issue(wishes) });
}

describe('a good certificate', () => {
  test('a good certificate passes for names and addresses, and its end is stored', async () => {
    const untilMs = inDays(90);
    const target = await startTls({ untilMs });
    const passed = {
      ok: true,
      outcome: 'ok',
      responseTimeMs: expect.any(Number),
      certificateEndsMs: wholeSeconds(untilMs),
    };
    expect(await http(target.url)).toEqual(passed);
    expect(await http(`https://localhost:${target.port}`)).toEqual(passed);
  });

  test('a certificate is requested by its name without the last dot', async () => {
    const asked: unknown[] = [];
    const target = await startTls();
    target.answerWith((request, response) => {
      asked.push((request.socket as tls.TLSSocket & { servername?: unknown }).servername);
      response.end();
    });
    expect(await http(`https://localhost.:${target.port}`)).toMatchObject({ ok: true });
    expect(asked).toEqual(['localhost']);
  });

  test('the end of a certificate is stored when the check fails too', async () => {
    const target = await startTls();
    target.answerWith((_request, response) => response.writeHead(503).end());
    expect(await http(target.url)).toMatchObject({
      ok: false,
      outcome: 'status',
      certificateEndsMs: expect.any(Number),
    });
  });

  test('plain HTTP has no certificate', async () => {
    const target = await startWebTarget();
    expect(await http(target.url)).not.toHaveProperty('certificateEndsMs');
  });
});

describe('a certificate is for', () => {
  const anywhere = setUp({ ca: authority.pem, lookup: async () => ['127.0.0.1'] });

  test.each<{ of: CertificateWishes; host: string; isFor: boolean }>([
    { of: { names: ['a.example', 'b.example'] }, host: 'b.example', isFor: true },
    { of: { names: ['a.example'] }, host: 'A.EXAMPLE', isFor: true },
    { of: { names: ['a.example'] }, host: 'b.a.example', isFor: false },
    { of: { names: ['*.a.example'] }, host: 'b.a.example', isFor: true },
    { of: { names: ['b*.a.example'] }, host: 'b1.a.example', isFor: true },
    { of: { names: ['*.a.example'] }, host: 'a.example', isFor: false },
    { of: { names: ['*.a.example'] }, host: 'c.b.a.example', isFor: false },
    { of: { names: ['*.example'] }, host: 'a.example', isFor: false },
    { of: { names: ['a.example, DNS:b.example'] }, host: 'b.example', isFor: false },
    { of: { names: [], commonNames: ['a.example'] }, host: 'a.example', isFor: true },
    { of: { names: [], commonNames: ['b.example', 'a.example'] }, host: 'a.example', isFor: true },
    { of: { names: [], commonNames: ['*.a.example'] }, host: 'b.a.example', isFor: true },
    {
      of: { names: [], commonNames: ['a.example\nCN=b.example'] },
      host: 'b.example',
      isFor: false,
    },
    { of: { names: ['b.example'], commonNames: ['a.example'] }, host: 'a.example', isFor: false },
    { of: { names: ['127.0.0.2'], commonNames: ['a.example'] }, host: 'a.example', isFor: true },
    { of: { names: ['127.0.0.1'] }, host: '127.0.0.1', isFor: true },
    { of: { names: ['127.0.0.2'] }, host: '127.0.0.1', isFor: false },
    { of: { names: [], commonNames: ['127.0.0.1'] }, host: '127.0.0.1', isFor: false },
    { of: { names: ['*.0.0.1'] }, host: '127.0.0.1', isFor: false },
  ])('$host: $isFor with $of', async ({ of, host, isFor }) => {
    const target = await startTls(of);
    const result = await anywhere.http(`https://${host}:${target.port}`);
    expect(result).toMatchObject(
      isFor
        ? { ok: true, outcome: 'ok' }
        : { ok: false, outcome: 'tls', reason: 'the certificate is for another name' },
    );
    expect(target.requests).toHaveLength(isFor ? 1 : 0);
  });
});

describe('a certificate that is not to be trusted', () => {
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const expired = inDays(-3);
  const tomorrow = inDays(1.5);
  test.each([
    {
      why: 'expired',
      tls: () => authority.issue({ untilMs: expired }),
      reason: `the certificate expired on ${day(expired)}`,
    },
    {
      why: 'not yet valid',
      tls: () => authority.issue({ fromMs: tomorrow }),
      reason: `the certificate is not valid before ${day(tomorrow)}`,
    },
    { why: 'self-signed', tls: () => selfSigned(), reason: 'the certificate is self-signed' },
    {
      why: 'self-signed and expired',
      tls: () => selfSigned({ untilMs: expired }),
      reason: `the certificate expired on ${day(expired)}`,
    },
    {
      why: 'for another name',
      tls: () => authority.issue({ names: ['other.example', '127.0.0.2'] }),
      reason: 'the certificate is for another name',
    },
    {
      why: 'of an unknown issuer',
      tls: () => createAuthority('Nobody').issue(),
      reason: /^the certificate's issuer is unknown/,
    },
    {
      why: 'signed by someone who takes the name of the issuer',
      tls: () => createAuthority().issue(),
      reason: /^the certificate is not signed by its issuer/,
    },
  ])(
    'fails when it is $why, sends nothing, and passes with ignore_tls',
    async ({ tls: pem, reason }) => {
      const target = await startWebTarget(undefined, { tls: pem() });
      for (const host of ['localhost', '127.0.0.1']) {
        const url = `https://${host}:${target.port}`;
        const result = await http(url);
        expect(result).toMatchObject({
          ok: false,
          outcome: 'tls',
          reason: expect.stringMatching(reason),
          certificateEndsMs: expect.any(Number),
        });
      }
      expect(target.requests).toEqual([]);
      const ignored = await http(target.url, { ignore_tls: true });
      expect(ignored).toMatchObject({ ok: true, outcome: 'ok' });
      expect(ignored.certificateEndsMs).toEqual(expect.any(Number));
      expect(target.requests).toHaveLength(1);
      // One check that takes anything leaves no door open for the next.
      expect(await http(target.url)).toMatchObject({ ok: false, outcome: 'tls' });
    },
  );
});

describe('a certificate that ends soon', () => {
  test.each([
    { tls_expiry_days: 4, outcome: 'expiring' },
    { tls_expiry_days: 3, outcome: 'ok' },
    { tls_expiry_days: 0, outcome: 'ok' },
  ])(
    'with $tls_expiry_days days left to warn of 3.2 it is $outcome',
    async ({ outcome, ...days }) => {
      const target = await startTls({ untilMs: inDays(3.2) });
      expect(await http(target.url, days)).toMatchObject({ ok: true, outcome });
      expect(await http(target.url, { ...days, ignore_tls: true })).toMatchObject({
        outcome: 'ok',
      });
    },
  );

  test('an expiring certificate goes before a slow answer, and a failure before both', async () => {
    const target = await startTls({ untilMs: inDays(1) });
    // Whatever it takes, it takes longer than nothing.
    const slow = { degraded_after_ms: 1 };
    expect(await http(target.url, slow)).toMatchObject({ ok: true, outcome: 'expiring' });
    expect(await http(target.url, { ...slow, expected_status: '500' })).toMatchObject({
      ok: false,
      outcome: 'status',
    });
  });

  test('the certificate of a redirecting host counts too', async () => {
    const last = await startTls();
    const first = await startTls({ untilMs: inDays(2) });
    first.answerWith((_request, response) => response.writeHead(302, { location: last.url }).end());
    expect(await http(first.url)).toMatchObject({ ok: true, outcome: 'expiring' });
  });

  test.each([
    [2.6 * DAY_MS, '3 days'],
    [1.6 * DAY_MS, '2 days'],
    [DAY_MS, '24 hours'],
    [DAY_MS / 12, '2 hours'],
    [1000, 'about an hour'],
  ])('%d ms before its end it has %s left', (leftMs, words) => {
    const endsMs = Date.UTC(2026, 10, 24, 12);
    expect(expiryWarning(endsMs, 14, endsMs - leftMs)).toBe(
      `the certificate expires in ${words}, on 2026-11-24`,
    );
  });

  test('an expiring certificate is reported from exactly the configured day on', () => {
    expect(expiryWarning(14 * DAY_MS, 14, 0)).toBeDefined();
    expect(expiryWarning(14 * DAY_MS + 1, 14, 0)).toBeUndefined();
  });
});

describe('a handshake', () => {
  test('a server without TLS fails with a sentence', async () => {
    const target = await startWebTarget();
    const result = await http(`https://127.0.0.1:${target.port}`);
    expect(result).toMatchObject({ ok: false, outcome: 'tls' });
    expect(result.reason).toContain(`127.0.0.1:${target.port} does not speak TLS`);
  });

  test('an aborted handshake fails with a sentence', async () => {
    const target = await startRawTarget((socket) => socket.once('data', () => socket.end()));
    const result = await http(`https://127.0.0.1:${target.port}`);
    expect(result).toMatchObject({ ok: false, outcome: 'connection' });
    expect(result.reason).toMatch(
      /^127\.0\.0\.1:\d+ closed the connection in the TLS handshake after \d+ ms$/,
    );
  });

  test('an endless handshake fails at the deadline, with ignore_tls too', async () => {
    const target = await startRawTarget(() => {});
    for (const ignore_tls of [false, true]) {
      expect(
        await http(`https://127.0.0.1:${target.port}`, { timeout_seconds: 1, ignore_tls }),
      ).toMatchObject({
        ok: false,
        outcome: 'timeout',
        reason: `no TLS handshake with 127.0.0.1:${target.port} within 1 s`,
      });
    }
  });

  test('a server that speaks only HTTP/2 fails with a sentence', async () => {
    const pem = authority.issue();
    const server = tls.createServer({ key: pem, cert: pem, ALPNProtocols: ['h2'] });
    server.on('tlsClientError', () => {});
    const result = await http(`https://127.0.0.1:${await listen(server)}`);
    expect(result).toMatchObject({ ok: false, outcome: 'tls' });
    expect(result.reason).toContain('does not speak HTTP/1.1');
  });
});
