import { describe, expect, test } from 'vitest';
import { MonitorCreate } from '../../src/contracts/monitoring.ts';
import { type CheckedMonitor, createCheck } from '../../src/monitoring/check.ts';
import { parseResolver } from '../../src/monitoring/check-dns.ts';
import { createConnect } from '../../src/monitoring/connect.ts';
import { createNameLookup } from '../../src/monitoring/name-lookup.ts';
import { createTargetGuard } from '../../src/monitoring/target-guard.ts';
import { type DnsAnswer, type RecordType, startDnsServer } from '../fakes/dns-server.ts';

/** Checks a name at a server that gives `answer`. */
async function look(
  answer: DnsAnswer,
  config: { record_type?: RecordType; expected?: string[]; timeout_seconds?: number } = {},
  options: { target?: string; allow?: string[] } = {},
) {
  const server = await startDnsServer(() => answer);
  const guard = createTargetGuard(options.allow ?? ['127.0.0.1']);
  const connect = createConnect({ guard, lookup: createNameLookup() });
  const check = createCheck({ guard, connect, userAgent: 'Askwatch/1.2.3' });
  const monitor = MonitorCreate.parse({
    check_type: 'DNS',
    name: 'zone',
    target: options.target ?? 'shop.example',
    config: { resolver: server.address, ...config },
  }) as CheckedMonitor;
  const again = () => check(monitor, new AbortController().signal);
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

  test('fail when an expected value is missing, without telling the others', async () => {
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

test('asks for an address by its reverse name', async () => {
  const { result, server } = await look(
    [['host.example']],
    { record_type: 'PTR' },
    { target: '192.0.2.5' },
  );
  expect(result).toMatchObject({ ok: true });
  expect(server.questions).toEqual([{ name: '5.2.0.192.in-addr.arpa', type: 'PTR' }]);
});

test.each([
  { answer: 'NXDOMAIN' as const, reason: 'the name does not exist (NXDOMAIN)' },
  { answer: 'SERVFAIL' as const, reason: 'the resolver failed (SERVFAIL)' },
  { answer: 'REFUSED' as const, reason: 'the resolver refused to answer (REFUSED)' },
])('says in words what $answer means, after one try', async ({ answer, reason }) => {
  const { result, server } = await look(answer);
  expect(result).toMatchObject({ ok: false, outcome: 'dns', reason });
  expect(server.questions).toHaveLength(1);
});

test.each(['silence', 'garbage'] as const)('gives up on %s at the deadline', async (answer) => {
  const { result, server } = await look(answer, { timeout_seconds: 1 });
  expect(result).toMatchObject({ ok: false });
  expect(result.outcome === 'timeout' || result.outcome === 'dns').toBe(true);
  expect(result.responseTimeMs).toBeLessThan(5_000);
  expect(server.questions).toHaveLength(1);
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
  expect(server.questions).toEqual([]);
});

test.each([
  ['9.9.9.9', { address: '9.9.9.9', text: '9.9.9.9:53' }],
  ['9.9.9.9:5353', { address: '9.9.9.9', text: '9.9.9.9:5353' }],
  ['2620:fe::fe', { address: '2620:fe::fe', text: '[2620:fe::fe]:53' }],
  ['[2620:fe::fe]:5353', { address: '2620:fe::fe', text: '[2620:fe::fe]:5353' }],
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
