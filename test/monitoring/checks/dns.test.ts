import { describe, expect, test } from 'vitest';
import type { DnsConfig } from '../../../src/contracts/monitoring.ts';
import { parseResolver } from '../../../src/monitoring/checks/dns-query.ts';
import { type DnsAnswer, type RecordType, startDnsServer } from '../../fakes/dns-server.ts';
import { closedPort } from '../../fakes/web-target.ts';
import { setUp } from '../../helpers/monitoring/checks.ts';

/** Checks a name at a server that gives `answer`. */
async function look(
  answer: DnsAnswer,
  config: Partial<DnsConfig> = {},
  options: { target?: string; allow?: string[] } & Parameters<typeof startDnsServer>[1] = {},
) {
  const server = await startDnsServer(() => answer, options);
  const { dns } = setUp({ allow: options.allow ?? ['127.0.0.1'] });
  const again = () =>
    dns(options.target ?? 'shop.example', { resolver: server.address, ...config });
  return { result: await again(), again, server };
}

const RECORDS: Array<{ type: RecordType; answer: string[][]; expected: string[]; wrong: string }> =
  [
    {
      type: 'A',
      answer: [['192.0.2.1'], ['192.0.2.2']],
      expected: ['192.0.2.2', '192.0.2.1'],
      wrong: '192.0.2.3',
    },
    { type: 'AAAA', answer: [['2001:db8::5']], expected: ['2001:db8::5'], wrong: '2001:db8::6' },
    {
      type: 'CNAME',
      answer: [['shop.cdn.example']],
      expected: ['Shop.CDN.example.'],
      wrong: 'cdn.example',
    },
    {
      type: 'NS',
      answer: [['ns1.example'], ['ns2.example']],
      expected: ['ns2.example'],
      wrong: 'ns3.example',
    },
    { type: 'PTR', answer: [['host.example']], expected: ['host.example'], wrong: 'other.example' },
    {
      type: 'MX',
      answer: [['10', 'mx.example']],
      expected: ['mx.example', '10 mx.example'],
      wrong: '20 mx.example',
    },
    { type: 'TXT', answer: [['v=spf1 ', '-all']], expected: ['v=spf1 -all'], wrong: 'V=SPF1 -all' },
    {
      type: 'SRV',
      answer: [['1', '2', '443', 'srv.example']],
      expected: ['1 2 443 srv.example', 'srv.example:443'],
      wrong: 'srv.example:444',
    },
    {
      type: 'SOA',
      answer: [['ns1.example', 'admin.example', '2026112001']],
      expected: ['2026112001', 'ns1.example'],
      wrong: '2026112002',
    },
    {
      type: 'CAA',
      answer: [['0', 'issue', 'letsencrypt.org']],
      expected: ['letsencrypt.org', '0 issue "letsencrypt.org"'],
      wrong: 'issue other.example',
    },
  ];

describe.each(RECORDS)('$type records', ({ type, answer, expected, wrong }) => {
  test('pass when there is one, and when all expected values are there', async () => {
    const { result, server } = await look(answer, { record_type: type });
    expect(result).toMatchObject({ ok: true, outcome: 'ok' });
    expect(server.questions).toEqual([{ name: 'shop.example', type }]);
    expect((await look(answer, { record_type: type, expected })).result).toMatchObject({
      ok: true,
    });
  });

  test('fail when an expected value is missing, without showing the others', async () => {
    const { result } = await look(answer, { record_type: type, expected: [...expected, wrong] });
    expect(result).toMatchObject({ ok: false, outcome: 'dns' });
    expect(result.reason).toContain(wrong);
    expect(result.reason).toContain(type);
  });

  test('fail when there is none', async () => {
    const { result } = await look([], { record_type: type });
    expect(result.reason).toBe(`the name has no ${type} record`);
  });
});

test.each([
  ['192.0.2.5', '5.2.0.192.in-addr.arpa'],
  // The hosts file knows this one.
  ['127.0.0.1', '1.0.0.127.in-addr.arpa'],
  ['2001:db8::1f', 'f.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
])('asks the server for the address %s by its reverse name', async (target, name) => {
  const config = { record_type: 'PTR' as const, expected: ['host.example'] };
  const { result, server } = await look([['host.example']], config, { target });
  expect(result).toMatchObject({ ok: true });
  expect(server.questions).toEqual([{ name, type: 'PTR' }]);
});

test.each([
  { answer: 'NXDOMAIN' as const, reason: /^the name does not exist \(NXDOMAIN\)$/ },
  { answer: 'SERVFAIL' as const, reason: /^the resolver 127\.0\.0\.1:\d+ failed \(SERVFAIL\)$/ },
  {
    answer: 'REFUSED' as const,
    reason: /^the resolver 127\.0\.0\.1:\d+ refused to answer \(REFUSED\)$/,
  },
])('says in words what $answer means, after one try', async ({ answer, reason }) => {
  const { result, server } = await look(answer);
  expect(result).toMatchObject({ ok: false, outcome: 'dns' });
  expect(result.reason).toMatch(reason);
  expect(server.questions).toHaveLength(1);
});

test.each(['silence', 'garbage'] as const)('gives up on %s at the deadline', async (answer) => {
  const { result, server } = await look(answer, { timeout_seconds: 1 });
  expect(result).toMatchObject({ ok: false });
  expect([
    `no answer from the resolver ${server.address} within 1 s`,
    `unreadable answer from the resolver ${server.address}`,
  ]).toContain(result.reason);
  // Before the default timeout of ten seconds.
  expect(result.responseTimeMs).toBeLessThan(9_000);
  expect(server.questions).toHaveLength(1);
});

test('says that nothing answers at the resolver', async () => {
  const resolver = `127.0.0.1:${await closedPort()}`;
  expect(await setUp().dns('shop.example', { resolver })).toMatchObject({
    ok: false,
    outcome: 'dns',
    reason: `connection refused by the resolver ${resolver}`,
  });
});

test('a server that has always been fast may answer slowly without counting as silent', async () => {
  let delayMs = 0;
  const { again, server } = await look(
    [['192.0.2.1']],
    { degraded_after_ms: 1_000 },
    {
      delayMs: () => delayMs,
    },
  );
  for (let i = 0; i < 5; i += 1) expect(await again()).toMatchObject({ ok: true });
  // Longer than the second after which the library looks at what is late.
  delayMs = 1_500;
  const slow = await again();
  expect(slow).toMatchObject({ ok: true, outcome: 'slow' });
  expect(slow.reason).toMatch(/^it answered after \d+,\d{3} ms, more than 1,000 ms$/);
  expect(server.questions).toHaveLength(7);
});

describe('an answer that is cut short', () => {
  const long = Array.from({ length: 200 }, (_, i) => [`192.0.2.${i}`]);

  test('a truncated answer is fetched over TCP', async () => {
    const { result, server } = await look(long, { expected: ['192.0.2.199'] }, { truncates: true });
    expect(result).toMatchObject({ ok: true, outcome: 'ok' });
    expect(server.overTcp()).toBe(1);
  });

  test('a truncated answer fails if there is no TCP', async () => {
    const { result } = await look(long, {}, { truncates: true, only: 'udp' });
    expect(result).toMatchObject({ ok: false, outcome: 'dns' });
    expect(result.reason).toMatch(/^connection refused by the resolver/);
  });
});

describe('the answer code that is wanted', () => {
  const rcodes = ['NOERROR', 'NXDOMAIN', 'SERVFAIL', 'REFUSED'] as const;
  const cases = rcodes.flatMap((rcode) => rcodes.map((answered) => ({ rcode, answered })));

  test.each(cases)('$rcode, and the answer is $answered', async ({ rcode, answered }) => {
    const { result } = await look(answered === 'NOERROR' ? [['192.0.2.1']] : answered, { rcode });
    expect(result.ok).toBe(rcode === answered);
    if (rcode === answered) return;
    expect(result.outcome).toBe('dns');
    expect(result.reason).toContain(answered);
    if (rcode !== 'NOERROR') expect(result.reason).toContain(`, expected ${rcode}`);
  });

  test('NXDOMAIN is not a name without records', async () => {
    const { result } = await look([], { rcode: 'NXDOMAIN' });
    expect(result).toMatchObject({ ok: false });
    expect(result.reason).toMatch(/ answered NOERROR, expected NXDOMAIN$/);
  });

  test('silence matches no answer code', async () => {
    const { result } = await look('silence', { rcode: 'SERVFAIL', timeout_seconds: 1 });
    expect(result).toMatchObject({ ok: false, outcome: 'timeout' });
  });
});

describe('expected values', () => {
  const answer = [['192.0.2.1'], ['192.0.2.2']];
  const both = ['192.0.2.2', '192.0.2.1'];

  test.each([
    { match: 'all', expected: both },
    { match: 'all', expected: ['192.0.2.1'] },
    { match: 'any', expected: ['192.0.2.9', '192.0.2.1'] },
    { match: 'any', expected: [] },
    { match: 'exact', expected: both },
    { match: 'exact', expected: [...both, '192.0.2.1'] },
  ] as const)('$match of $expected are there', async ({ match, expected }) => {
    const { result } = await look(answer, { match, expected: [...expected] });
    expect(result).toMatchObject({ ok: true, outcome: 'ok' });
  });

  test.each([
    {
      match: 'all',
      expected: [...both, '192.0.2.9'],
      reason: '192.0.2.9 not found in 2 A records',
    },
    {
      match: 'any',
      expected: ['192.0.2.9', '192.0.2.8'],
      reason: 'found none of the expected values in 2 A records',
    },
    {
      match: 'exact',
      expected: ['192.0.2.1'],
      reason: '1 of 2 A records is unexpected',
    },
    {
      match: 'exact',
      expected: [...both, '192.0.2.9'],
      reason: '192.0.2.9 not found in 2 A records',
    },
  ] as const)('$match of $expected are not there', async ({ match, expected, reason }) => {
    const { result } = await look(answer, { match, expected: [...expected] });
    expect(result).toMatchObject({ ok: false, outcome: 'dns', reason });
    expect(result.reason).not.toContain('192.0.2.2');
  });

  test('an IPv6 address is the same however it is written', async () => {
    const { result } = await look([['2001:db8::5']], {
      record_type: 'AAAA',
      expected: ['2001:0DB8:0:0:0:0:0:5'],
      match: 'exact',
    });
    expect(result).toMatchObject({ ok: true });
  });
});

test('asks the server at every check: no answer is kept', async () => {
  const { again, server } = await look([['192.0.2.1']]);
  await again();
  await again();
  expect(server.questions).toHaveLength(3);
});

test('a resolver at an address that is not allowed is not asked', async () => {
  const { result, server } = await look([['192.0.2.1']], {}, { allow: [] });
  expect(result).toMatchObject({ ok: false, outcome: 'blocked' });
  expect(result.reason).toMatch(/^the resolver may not be checked/);
  expect(result.reason).not.toContain('127.0.0.1');
  expect(server.questions).toEqual([]);
});

test.each([
  ['9.9.9.9', { address: '9.9.9.9', port: 53, text: '9.9.9.9:53' }],
  ['9.9.9.9:5353', { address: '9.9.9.9', port: 5353, text: '9.9.9.9:5353' }],
  ['2620:fe::fe', { address: '2620:fe::fe', port: 53, text: '[2620:fe::fe]:53' }],
  ['[2620:fe::fe]:5353', { address: '2620:fe::fe', port: 5353, text: '[2620:fe::fe]:5353' }],
  ['dns.example', undefined],
  ['9.9.9.9:0', undefined],
  ['9.9.9.9:65536', undefined],
  ['9.9.9.9:', undefined],
  ['[9.9.9.9]:53', undefined],
  ['9.9.9', undefined],
  ['', undefined],
])('reads the resolver %j', (written, expected) => {
  expect(parseResolver(written)).toEqual(expected);
});
