import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MonitorCreate } from '../../../src/contracts/monitoring.ts';
import { HttpError } from '../../../src/http/errors.ts';
import { createSsrfGuard } from '../../../src/http/ssrf-guard.ts';
import { createAdmission } from '../../../src/monitoring/api/admission.ts';
import { hostPortOf } from '../../../src/monitoring/checks/host-port.ts';
import type { NameLookup } from '../../../src/monitoring/checks/name-lookup.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { long } from '../../helpers/long.ts';
import { setUp } from '../../helpers/monitoring/checks.ts';
import {
  anyIpv4,
  anyIpv6,
  isForPublic,
  writtenIpv4,
  writtenIpv6,
} from '../../helpers/monitoring/hostile-addresses.ts';

const noName: NameLookup = () => Promise.reject(new Error('no such name'));

/** Asks for a monitor; the refusal, or `undefined` when it is taken. */
async function refusal(monitor: object, lookup = noName): Promise<HttpError | undefined> {
  const admit = createAdmission({ guard: createSsrfGuard([]), lookup });
  try {
    await admit(MonitorCreate.parse({ name: 'site', ...monitor }));
    return undefined;
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
}
const web = (config: object, check_type = 'HTTP') => ({
  check_type,
  target: 'https://1.1.1.1/',
  config: check_type === 'KEYWORD' ? { target_keyword: 'x', ...config } : config,
});
const dns = (config: object) => ({ check_type: 'DNS', target: 'shop.example', config });

describe.each(['HTTP', 'KEYWORD'])('settings of %s that are refused', (type) => {
  test.each([
    'Host',
    'connection',
    'Content-Length',
    'transfer-encoding',
    'Upgrade',
    'TE',
    'Trailer',
    'Expect',
    'Keep-Alive',
    'Proxy-Authorization',
    'proxy-anything',
    'HTTP2-Settings',
  ])('the header %s', async (name) => {
    const error = await refusal(web({ headers: { Accept: '*/*', [name]: 'x' } }, type));
    expect(error).toMatchObject({ status: 400, param: `config.headers.${name}` });
    expect(error?.message).toContain('leave it out');
  });

  test.each(['a\r\nHost: b', 'a\nb', 'a\0', 'a\tb', 'a\u007f', 'a\u0085', 'caf\u0065\u0301', '→'])(
    'the header value %j',
    async (value) => {
      const error = await refusal(web({ headers: { 'X-A': value } }, type));
      expect(error).toMatchObject({ status: 400, param: 'config.headers.X-A' });
    },
  );

  test('a header that is there twice', async () => {
    const error = await refusal(web({ headers: { 'X-A': '1', 'x-a': '2' } }, type));
    expect(error).toMatchObject({ status: 400, param: 'config.headers.X-A' });
    expect(error?.message).toContain('x-a');
  });

  test.each(['GET', 'HEAD'])('a body with %s', async (method) => {
    const error = await refusal(web({ method, body: '' }));
    expect(error).toMatchObject({ status: 400, param: 'config.body' });
  });

  test.each([
    { degraded_after_ms: 10_000 },
    { degraded_after_ms: 2_000, timeout_seconds: 2 },
    { degraded_after_ms: 4_000, interval_seconds: 5 },
  ])('a slow answer that would be a timeout: %j', async (config) => {
    const error = await refusal(web(config, type));
    expect(error).toMatchObject({ status: 400, param: 'config.degraded_after_ms' });
  });
});

test.each([
  [{ json: 'a = 1' }, 'the path must be followed by'],
  [{ json: 'a == 1', method: 'HEAD' }, 'an answer to HEAD has no body; use GET'],
])('a value in JSON is refused with %j', async (config, sentence) => {
  const error = await refusal(web(config));
  expect(error).toMatchObject({ status: 400, param: 'config.json' });
  expect(error?.message).toContain(sentence);
  expect(await refusal(web({ json: 'a == 1' }))).toBeUndefined();
});

test.each([
  { headers: { 'User-Agent': 'Mine/1.0', Authorization: 'Bearer x', 'X-Caf': 'caf\u00e9' } },
  { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } },
  { method: 'DELETE', body: 'x' },
  { degraded_after_ms: 9_999 },
  { timeout_seconds: 59, degraded_after_ms: 58_999 },
])('takes %j', async (config) => {
  expect(await refusal(web(config))).toBeUndefined();
});

test.each([
  { config: { rcode: 'NXDOMAIN', expected: ['1.1.1.1'] }, param: 'config.expected' },
  { config: { match: 'exact' }, param: 'config.expected' },
  { config: { degraded_after_ms: 10_000 }, param: 'config.degraded_after_ms' },
  { config: { resolver: '127.0.0.1' }, param: 'config.resolver' },
  { config: { resolver: '[::ffff:10.0.0.1]:53' }, param: 'config.resolver' },
  { config: { resolver: 'dns.example' }, param: 'config.resolver' },
])('a DNS check is refused with $config', async ({ config, param }) => {
  expect(await refusal(dns(config))).toMatchObject({ status: 400, param });
});

test.each([
  ['HTTP', 'example.com', 'such as https://example.com'],
  ['HTTP', 'ftp://example.com/', 'http'],
  ['HTTP', 'http://1.1.1.1/a b', ''],
  ['HTTP', 'http://1.1.1.1:65536/', ''],
  ['DNS', 'https://shop.example/cart', 'only the name, such as shop.example'],
  ['DNS', '192.0.2.1', ''],
  ['DNS', 'a..example', ''],
])('a target of %s is refused: %s', async (check_type, target, sentence) => {
  const error = await refusal({ check_type, target });
  expect(error).toMatchObject({ status: 400, param: 'target' });
  expect(error?.message).toContain(sentence);
});

test.each([
  ['_sip._tcp.example.com.', { record_type: 'SRV' }],
  ['münchen.example', {}],
  ['192.0.2.1', { record_type: 'PTR' }],
])('a target of DNS is accepted: %s', async (target, config) => {
  expect(await refusal({ check_type: 'DNS', target, config })).toBeUndefined();
});

test.each([
  { rcode: 'NXDOMAIN' },
  { match: 'any' },
  { match: 'exact', expected: ['1.1.1.1'], degraded_after_ms: 500 },
  { resolver: '1.1.1.1:5353' },
])('a DNS check is taken with %j', async (config) => {
  expect(await refusal(dns(config))).toBeUndefined();
});

const port = (target: string, config: object = {}, check_type = 'TCP') => ({
  ...{ check_type, target, config },
});

describe.each(['TCP', 'CERTIFICATE'])('a host and a port of %s', (type) => {
  test.each([
    '1.1.1.1:5432',
    'db.example:5432',
    'DB.example.:5432',
    'tcp://db.example:5432',
    'TCP://db.example:5432/',
    '[2606:4700:4700::1111]:22',
    'tcp:5432',
    'db_1.example:65535',
    'bücher.example:1',
  ])('are taken: %s', async (target) => {
    expect(await refusal(port(target, {}, type))).toBeUndefined();
  });

  test.each([
    ['https://example.com', 'must be a host and a port'],
    ['http://example.com:80', 'must be a host and a port'],
    ['db.example:5432/path', 'must be a host and a port'],
    ['db.example:5432?x', 'must be a host and a port'],
    ['user:pass@db.example:5432', 'must be a host and a port'],
    ['db.example:', 'must be a host and a port'],
    [':5432', 'must be a host and a port'],
    ['db.example:postgres', 'must be a host and a port'],
    ['db example:5432', 'must be a host and a port'],
    ['db%2eexample:5432', 'must be a host and a port'],
    ['[::1', 'must be a host and a port'],
    ['[nobody]:5432', 'must be a host and a port'],
    ['2606:4700:4700::1111', 'put an IPv6 address in brackets'],
    ['::1:5432', 'put an IPv6 address in brackets'],
    ['db.example:0', 'the port must be a number from 1 to 65535'],
    ['db.example:65536', 'the port must be a number from 1 to 65535'],
    ['db..example:5432', 'the host is not a valid name'],
    ['db!.example:5432', 'the host is not a valid name'],
  ])('are refused in a sentence: %s', async (target, sentence) => {
    const error = await refusal(port(target, {}, type));
    expect(error).toMatchObject({ status: 400, code: 'invalid_value', param: 'target' });
    expect(error?.message).toContain(sentence);
  });

  test('are reached only where that is public, however they are written', async () => {
    const ip = fc.oneof(
      anyIpv4.chain((address) => fc.tuple(fc.constant(address), writtenIpv4(address))),
      anyIpv6.chain((address) => fc.tuple(fc.constant(address), writtenIpv6(address))),
    );
    const before = fc.constantFrom('', 'tcp://');
    await fc.assert(
      fc.asyncProperty(ip, before, fc.constantFrom('', '/'), async ([address, as], tcp, end) => {
        const target = `${tcp}${as}:5432${end}`;
        const error = await refusal(port(target, {}, type));
        if (!isForPublic(address)) expect(error?.status, target).toBe(400);
        else if (error) expect(error.code, target).toBe('invalid_value');
      }),
      { numRuns: long ? 5_000 : 150 },
    );
  });

  test('can be any text, which is taken or refused with a sentence', async () => {
    const piece = fc.oneof(
      fc.constantFrom('tcp://', '//', '\\', '@', '[', ']', '%2e', '%00', '#', '?', ':', '.', ':1'),
      fc.constantFrom('127.0.0.1', '①②⑦.0.0.1', '0x7f', '2130706433', 'localhost', '。', '::1'),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 8 }), async (pieces) => {
        const target = pieces.join('');
        fc.pre(target.trim() !== '');
        // Every name leads to a private network here: only a public literal may be taken.
        const error = await refusal(port(target, {}, type), async () => ['10.0.0.1']);
        if (error) expect(error).toMatchObject({ status: 400, param: 'target' });
        else
          expect(isForPublic(hostPortOf(target.trim())?.hostname.replace(/[[\]]/g, '') ?? '')).toBe(
            true,
          );
      }),
      { numRuns: long ? 10_000 : 300 },
    );
  });
});

test.each([
  [
    { send: 'PING\\q' },
    'config.send',
    'use only the escapes \\r, \\n, \\t, \\\\ and \\x00 to \\xff',
  ],
  [{ send: '\\x1' }, 'config.send', 'use only the escapes'],
  [{ expect: 'PONG\\' }, 'config.expect', 'use only the escapes'],
  [{ server_name: 'db.example' }, 'config.server_name', 'needs tls: true'],
  [{ tls: true, server_name: '1.1.1.1' }, 'config.server_name', 'must be a host name'],
  [{ tls: true, server_name: 'a b' }, 'config.server_name', 'must be a host name'],
])('a TCP check is refused with %j', async (config, param, sentence) => {
  const error = await refusal(port('1.1.1.1:80', config));
  expect(error).toMatchObject({ status: 400, param });
  expect(error?.message).toContain(sentence);
});

test.each([
  ['example.com', {}],
  ['[2606:4700:4700::1111]', {}],
  ['mail.example', { starttls: 'imap', down_days: 7 }],
  ['example.com', { days_left: 0, down_days: 30, server_name: 'a.example' }],
])('a CERTIFICATE check is taken without a port: %s %j', async (target, config) => {
  expect(await refusal(port(target, config, 'CERTIFICATE'))).toBeUndefined();
});

test.each([
  [{ down_days: 14 }, 'config.down_days', 'must be less than days_left, which is 14'],
  [{ days_left: 5, down_days: 9 }, 'config.down_days', 'must be less than days_left'],
  [{ server_name: '::1' }, 'config.server_name', 'must be a host name'],
])('a CERTIFICATE check is refused with %j', async (config, param, sentence) => {
  const error = await refusal(port('1.1.1.1', config, 'CERTIFICATE'));
  expect(error).toMatchObject({ status: 400, param });
  expect(error?.message).toContain(sentence);
});

test('a TCP check is refused without a port', async () => {
  const error = await refusal(port('db.example'));
  expect(error?.message).toContain('add the port, such as db.example:5432');
});

const suffix = fc.constantFrom('', '.', ':80', ':8443', '/', '/a?b#c', '/@1.1.1.1', '?@1.1.1.1/');
const scheme = fc.constantFrom('http://', 'https://', 'HTTP://', 'hTTps://');
const kind = fc.constantFrom('HTTP', 'KEYWORD');
const ipv4 = anyIpv4.chain((address) => fc.tuple(fc.constant(address), writtenIpv4(address)));
const ipv6 = anyIpv6.chain((address) => fc.tuple(fc.constant(address), writtenIpv6(address)));

test('an address in any notation is taken as a target only when it is public', async () => {
  const told = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.oneof(ipv4, ipv6), scheme, suffix, kind, async (ip, http, end, type) => {
      const [address, written] = ip;
      const target = `${http}${written}${written.startsWith('[') && end === '.' ? '' : end}`;
      const error = await refusal({ ...web({}, type), target });
      if (!isForPublic(address)) expect(error?.status, target).toBe(400);
      else expect(error, target).toBeUndefined();
      if (error?.code === 'target_not_allowed') told.add(error.message);
    }),
    { numRuns: long ? 5_000 : 150 },
  );
  // One text for all, so that it reveals nothing about the address.
  expect(told.size).toBe(1);
});

test('an address in any notation is taken as a resolver only when it is public', async () => {
  const resolver = fc.oneof(
    anyIpv4.map((address) => [address, address] as const),
    anyIpv6.map((address) => [address, address] as const),
    anyIpv6.map((address) => [address, `[${address}]:53`] as const),
  );
  await fc.assert(
    fc.asyncProperty(resolver, async ([address, written]) => {
      const error = await refusal(dns({ resolver: written }));
      expect(error === undefined, written).toBe(isForPublic(address));
    }),
    { numRuns: long ? 2_500 : 75 },
  );
});

test('an address in any notation behind a name is taken when one of them is public, and never connected to when not', async () => {
  const many = fc.array(fc.oneof(anyIpv4, anyIpv6), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(many, async (addresses) => {
      const target = 'http://name.example/';
      const error = await refusal({ ...web({}), target }, async () => addresses);
      expect(error === undefined).toBe(addresses.some(isForPublic));
      // Only names with no public address are checked, because a check would reach the others.
      if (error === undefined) return;
      const { http } = setUp({ allow: [], lookup: async () => addresses });
      const result = await http(target);
      expect(result.outcome).toBe('blocked');
      for (const address of addresses) expect(result.reason).not.toContain(address);
    }),
    { numRuns: long ? 1_500 : 50 },
  );
});

test('any text as a target is accepted or refused with a sentence, and nothing else happens', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'http:',
      'https://',
      '//',
      '\\',
      '@',
      '[',
      ']',
      '%2e',
      '%00',
      '#',
      '?',
      ':',
      '.',
    ),
    fc.constantFrom('127.0.0.1', '①②⑦.0.0.1', '0x7f', '2130706433', 'localhost', '。', 'ｈttp://'),
    fc.string({ unit: 'grapheme', maxLength: 6 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 8 }), async (pieces) => {
      const target = pieces.join('');
      fc.pre(target.trim() !== '');
      const seen: string[] = [];
      const lookup: NameLookup = async (name) => {
        seen.push(name);
        return ['10.0.0.1'];
      };
      // Every name leads to a private network here: only a public literal may be taken.
      const error = await refusal({ ...web({}), target }, lookup);
      if (error) expect(error).toMatchObject({ status: 400, param: 'target' });
      else expect(isForPublic(new URL(target.trim()).hostname.replace(/^\[|\]$/g, ''))).toBe(true);
    }),
    { numRuns: long ? 10_000 : 300 },
  );
});

test('a name that changes its answer after it was accepted is checked again at every check and every redirect', async () => {
  const forbidden = await startWebTarget(undefined, { host: '127.0.0.2' });
  const target = await startWebTarget((_request, response) =>
    response.writeHead(302, { location: `http://rebind.example:${forbidden.port}/` }).end(),
  );
  // At create it is public; at the first hop it is allowed, at the second no longer.
  const answers = [['1.1.1.1'], ['127.0.0.1'], ['127.0.0.2']];
  const lookup: NameLookup = async () => answers.shift() ?? ['127.0.0.2'];
  const url = `http://rebind.example:${target.port}/`;
  expect(await refusal({ ...web({}), target: url }, lookup)).toBeUndefined();
  const { http } = setUp({ lookup });
  const result = await http(url);
  expect(result).toMatchObject({ ok: false, outcome: 'blocked' });
  expect(result.reason).toBe(
    'the address behind the name it redirects to may not be checked (see MONITOR_ALLOW_PRIVATE)',
  );
  expect(target.connections()).toBe(1);
  expect(forbidden.connections()).toBe(0);
  expect(await http(url)).toMatchObject({ ok: false, outcome: 'blocked' });
  expect(forbidden.connections() + target.connections()).toBe(1);
});
