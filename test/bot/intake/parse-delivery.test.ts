import { describe, expect, test } from 'vitest';
import { parseDelivery } from '../../../src/bot/intake/parse-delivery.ts';
import { PayloadError } from '../../../src/bot/intake/read-payload.ts';
import type { ReportedAlert } from '../../../src/bot/intake/reported-alert.ts';
import type { IntakeKind } from '../../../src/contracts/intake-kinds.ts';
import { HIDDEN } from '../../../src/contracts/secret-values.ts';
import { expectBounded } from '../../helpers/intake/expect-bounded.ts';
import { payload } from '../../helpers/intake/payloads.ts';

const NOW = Date.parse('2026-11-22T14:05:00Z');
const at = (time: string) => Date.parse(time);

async function parsed(kind: IntakeKind, body: unknown) {
  const result = await parseDelivery(kind, body, NOW);
  expectBounded(result);
  return result;
}

async function only(kind: IntakeKind, body: unknown): Promise<ReportedAlert> {
  const { alerts } = await parsed(kind, body);
  expect(alerts).toHaveLength(1);
  return alerts[0] as ReportedAlert;
}

const refusal = async (kind: IntakeKind, body: unknown) => {
  try {
    await parseDelivery(kind, body, NOW);
  } catch (error) {
    expect(error).toBeInstanceOf(PayloadError);
    return (error as Error).message;
  }
  throw new Error('It was taken.');
};

const factsOf = ({ facts }: ReportedAlert) =>
  Object.fromEntries(facts.map(({ label, value }) => [label, value]));

describe('an Alertmanager delivery', () => {
  test('says of each alert by itself how it is', async () => {
    const { alerts, truncated } = await parsed('alertmanager', payload('alertmanager-firing'));
    expect(truncated).toBe(3);
    const labels = {
      alertname: 'HighErrorRate',
      instance: 'shop-1.example:9100',
      job: 'shop',
      severity: 'page',
    };
    expect(alerts[0]).toEqual({
      key: '5ef77f1f8a3ecfb2',
      state: 'firing',
      name: 'HighErrorRate',
      summary: 'Many requests fail',
      severity: 'critical',
      startedAtMs: at('2026-11-22T14:02:11.123Z'),
      facts: [
        { label: 'instance', value: 'shop-1.example:9100' },
        { label: 'job', value: 'shop' },
        { label: 'severity', value: 'page' },
        {
          label: 'description',
          value: '7.2% of requests to shop-1 failed in the last 5 minutes.',
        },
        { label: 'receiver', value: 'team-x/web.hook' },
      ],
      links: [
        { label: 'Runbook', url: 'https://runbooks.example/errors?page=2&token=' },
        {
          label: 'Source',
          url: 'http://prometheus.example:9090/graph?g0.expr=rate%28errors%5B5m%5D%29&g0.tab=1',
        },
        { label: 'Alertmanager', url: 'http://alertmanager.example:9093/' },
      ],
      labels,
    });
    expect(alerts[1]).toMatchObject({
      key: '01d1bb3cba2ae0de',
      state: 'resolved',
      severity: 'warning',
      startedAtMs: at('2026-11-22T13:50:00Z'),
    });
    // It cannot have ended before it began.
    expect(alerts[1]).not.toHaveProperty('endedAtMs');
  });

  const withAlert = (change: Record<string, unknown>, body: Record<string, unknown> = {}) => {
    const { alerts, ...rest } = payload('alertmanager-firing');
    const first = (alerts as Record<string, unknown>[])[0];
    return { ...rest, ...body, alerts: [{ ...first, ...change }] };
  };

  test.each([
    ['2026-11-22T14:02:11Z', '2026-11-22T14:02:11Z'],
    ['2026-11-22T15:02:11.5+01:00', '2026-11-22T14:02:11.500Z'],
    ['0001-01-01T00:00:00Z', undefined],
    ['1999-12-31T23:59:59Z', undefined],
    ['2026-11-23T14:05:00Z', '2026-11-23T14:05:00Z'],
    ['2026-11-23T14:05:01Z', undefined],
    ['2026-02-30T25:61:00Z', undefined],
    ['yesterday', undefined],
    [null, undefined],
    [1_795_356_131, '2026-11-22T14:02:11Z'],
  ])('that begins at %j begins at %j', async (startsAt, time) => {
    const { startedAtMs } = await only('alertmanager', withAlert({ startsAt }));
    expect(startedAtMs).toBe(time && at(time));
  });

  test('says nothing of when a firing alert ends', async () => {
    const alert = await only('alertmanager', withAlert({ endsAt: '2026-11-22T14:09:00Z' }));
    expect(alert).not.toHaveProperty('endedAtMs');
  });

  test('an alert without a fingerprint has a key of all labels in any order', async () => {
    const keyOf = async (labels: unknown) =>
      (await only('alertmanager', withAlert({ labels, fingerprint: '' }))).key;
    const key = await keyOf({ a: '1', b: '2' });
    expect(key).toMatch(/^labels:[0-9a-f]{32}$/);
    expect(await keyOf({ b: '2', a: '1' })).toBe(key);
    expect(await keyOf({ a: '1', b: '3' })).not.toBe(key);
    expect(await keyOf({ a: '1,b:2' })).not.toBe(key);
  });

  test.each([
    [{ severity: 'critical' }, 'critical'],
    [{ severity: 'purple' }, 'critical'],
    [{}, 'critical'],
    [{ severity: 'Warning' }, 'warning'],
    [{ severity: 'info' }, 'warning'],
    [{ priority: 'P4' }, 'warning'],
    [{ priority: 'P1' }, 'critical'],
  ] as const)('with the labels %j is %s', async (labels, severity) => {
    expect((await only('alertmanager', withAlert({ labels }))).severity).toBe(severity);
  });

  test('takes its name and summary from what there is', async () => {
    const named = async (change: Record<string, unknown>, body = {}) => {
      const { name, summary } = await only('alertmanager', withAlert(change, body));
      return { name, summary };
    };
    const annotations = { message: 'It burns', description: 'All of it burns' };
    expect(await named({ labels: {}, annotations })).toEqual({
      name: 'All of it burns',
      summary: 'All of it burns',
    });
    expect(await named({ annotations: {} })).toEqual({ name: 'HighErrorRate', summary: undefined });
    expect(
      await named({ labels: [], annotations: 'none' }, { title: '[FIRING:1]', message: 'M' }),
    ).toEqual({ name: '[FIRING:1]', summary: 'M' });
    expect(await named({ labels: null, annotations: null })).toEqual({
      name: 'Alertmanager',
      summary: undefined,
    });
  });

  test('keeps all labels for a silence, or none', async () => {
    const labelsOf = async (labels: unknown) =>
      (await only('alertmanager', withAlert({ labels }))).labels;
    expect(await labelsOf({ a: '1', b: '\u202e @here' })).toEqual({ a: '1', b: '\u202e @here' });
    expect(await labelsOf({ constructor: 'y' })).toEqual({ constructor: 'y' });
    expect(await labelsOf(JSON.parse('{"__proto__":"x","a":"1"}'))).toBe(undefined);
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`l${n}`, 'x']));
    const unsaid = [{}, { a: 1 }, { a: 'x\0' }, { a: '\ud83d' }, { a: 'x'.repeat(20_000) }, many];
    for (const labels of unsaid) expect(await labelsOf(labels)).toBe(undefined);
  });

  test('keeps no secret of its labels for a silence', async () => {
    const labelsOf = async (labels: unknown) =>
      (await only('alertmanager', withAlert({ labels }))).labels;
    const url = 'https://user:swordfish@db.example/?api_key=swordfish';
    expect(await labelsOf({ alertname: 'A', password: 'swordfish', url, code: '503' })).toEqual({
      ...{ alertname: 'A', password: HIDDEN, url: HIDDEN, code: '503' },
    });
    expect(await labelsOf({ password: 'swordfish' })).toBe(undefined);
  });

  test('is refused where an alert says no state', async () => {
    expect(await refusal('alertmanager', withAlert({ status: 'burning' }))).toBe(
      'alerts[0].status must be firing or resolved, not “burning”.',
    );
    expect(await refusal('alertmanager', { alerts: [{ fingerprint: 'a' }] })).toBe(
      'alerts[0].status must be firing or resolved, but is missing.',
    );
    expect(await refusal('alertmanager', { alerts: [null], receiver: 'x' })).toBe(
      'alerts[0] must be an object.',
    );
    expect(await refusal('alertmanager', { hello: 'world' })).toContain('no “alerts” list');
    expect(await refusal('alertmanager', [])).toBe(
      'This address accepts an Alertmanager delivery as a JSON object.',
    );
  });

  test('may hold 10,000 alerts, and not one more', async () => {
    const alert = { status: 'firing', labels: { alertname: 'A' } };
    const group = (count: number) => ({
      receiver: 'x',
      alerts: Array.from({ length: count }, (_, n) => ({ ...alert, fingerprint: String(n) })),
    });
    const { alerts } = await parseDelivery('alertmanager', group(10_000), NOW);
    expect(alerts).toHaveLength(10_000);
    expect(await refusal('alertmanager', group(10_001))).toContain('10001 alerts');
  });
});

test('a Grafana delivery holds values and its pages besides', async () => {
  const alert = await only('grafana', payload('grafana-firing'));
  expect(alert).toMatchObject({
    key: 'c6eadffa33fcdf37',
    state: 'firing',
    name: 'Disk almost full',
    summary: 'Disk of db-1 is at 93%',
    severity: 'critical',
    startedAtMs: at('2026-11-22T14:04:10Z'),
  });
  expect(alert).not.toHaveProperty('endedAtMs');
  expect(alert.facts).toEqual([
    { label: 'grafana_folder', value: 'Servers' },
    { label: 'instance', value: 'db-1' },
    { label: 'A', value: '93.25' },
    { label: 'C', value: '1' },
    { label: 'receiver', value: 'Askwatch' },
  ]);
  expect(alert.links.map(({ label }) => label)).toEqual([
    'Panel',
    'Dashboard',
    'Source',
    'Silence',
    'Grafana',
  ]);
  // Either takes what the other sends.
  expect((await only('alertmanager', payload('grafana-firing'))).key).toBe(alert.key);
  expect((await parsed('grafana', payload('alertmanager-firing'))).alerts).toHaveLength(2);
});

test('a PagerDuty event of an Alertmanager', async () => {
  const alert = await only('pagerduty', payload('pagerduty-alertmanager'));
  expect(alert).toMatchObject({
    key: '6b2b4dd2a1d19b1a5f5bb2ab5d58a23be7d4fa5cbfd0a4b7a58fdf4cd5ef0b39',
    state: 'firing',
    name: '[FIRING:2] HighErrorRate shop (page)',
    severity: 'critical',
  });
  expect(factsOf(alert)).toMatchObject({
    source: 'Alertmanager',
    firing:
      'Labels: - alertname = HighErrorRate - instance = shop-1 Annotations: - summary = Many requests fail',
    num_firing: '2',
  });
  expect(alert).not.toHaveProperty('labels');
});

test('a PagerDuty event with everything in it', async () => {
  const alert = await only('pagerduty', payload('pagerduty-trigger'));
  expect(alert).toMatchObject({
    name: 'Ping of db-1 is slow',
    severity: 'warning',
    startedAtMs: at('2026-11-22T14:02:11.315Z'),
  });
  expect(alert.facts).toContainEqual({
    label: 'disks',
    value: '[{name: sda, password: …}]',
  });
  expect(alert.links).toEqual([
    { label: 'Wiki', url: 'https://wiki.example/db' },
    { label: 'evil.example', url: 'https://evil.example/' },
    { label: 'Probe', url: 'https://probe.example/' },
    { label: 'Graph', url: 'https://example.com/graph.png' },
  ]);
  // Sent again, it is the same; said otherwise, another.
  const sent = payload('pagerduty-trigger');
  expect((await only('pagerduty', { ...sent, routing_key: 'x' })).key).toBe(alert.key);
  expect((await only('pagerduty', { ...sent, client: 'x' })).key).not.toBe(alert.key);
});

test('a PagerDuty event ends or acknowledges by its key alone', async () => {
  const resolve = payload('pagerduty-resolve');
  expect(await only('pagerduty', resolve)).toMatchObject({ key: 'db-1/ping', state: 'resolved' });
  const acknowledged = { ...resolve, event_action: 'acknowledge' };
  expect(await only('pagerduty', acknowledged)).toMatchObject({
    key: 'db-1/ping',
    state: 'acknowledged',
  });
});

test.each([
  [
    { event_action: 'close' },
    '“event_action” must be trigger, acknowledge or resolve, not “close”.',
  ],
  [{ event_action: '__proto__' }, 'not “ proto ”'],
  [{ routing_key: 'x' }, 'but is missing'],
  [{ event_action: 'trigger', payload: { source: 'x' } }, '“payload.summary”'],
  [{ event_action: 'trigger', payload: { summary: 'x', source: ' ' } }, '“payload.source”'],
  [{ event_action: 'resolve' }, 'must have the “dedup_key”'],
  [{ event_action: 'resolve', dedup_key: 7 }, '“dedup_key” must be a string.'],
  [
    { event_action: 'resolve', dedup_key: 'x'.repeat(256) },
    'has 256 characters. The limit is 255.',
  ],
])('the PagerDuty event %j is refused', async (body, message) => {
  expect(await refusal('pagerduty', body)).toContain(message);
});

test('a PagerDuty event of Uptime Kuma has a key for each monitor, and one for each certificate', async () => {
  expect(await only('pagerduty', payload('pagerduty-kuma'))).toMatchObject({
    key: 'Uptime Kuma/7',
    severity: 'warning',
  });
  const notice = payload('pagerduty-kuma-certificate');
  const saying = (summary: string) => ({ ...notice, payload: { summary, source: 'x' } });
  const { key, severity } = await only('pagerduty', notice);
  expect(key).toMatch(/^notice:/);
  expect(severity).toBe('warning');
  const { summary } = notice.payload as { summary: string };
  expect((await only('pagerduty', saying(summary.replace('14 days', '7 days')))).key).toBe(key);
  expect((await only('pagerduty', saying(summary.replace('shop', 'bank')))).key).not.toBe(key);
  expect(
    await parsed('pagerduty', saying('[Uptime Kuma Alert] [undefined] Askwatch Testing')),
  ).toEqual({
    alerts: [],
    truncated: 0,
    note: 'This is a test message from Uptime Kuma: the address works.',
  });
});

test('an Uptime Kuma message says what is down', async () => {
  expect(await only('uptime-kuma', payload('uptime-kuma-down'))).toEqual({
    key: '7',
    state: 'firing',
    name: 'Shop',
    summary: 'connect ECONNREFUSED 10.0.0.7:443',
    severity: 'critical',
    startedAtMs: at('2026-11-22T14:02:11.527Z'),
    facts: [
      { label: 'type', value: 'http' },
      { label: 'url', value: 'https://shop.example/health?token=…' },
      { label: 'path', value: 'Web / Shop' },
      { label: 'stage', value: 'prod' },
      { label: 'public', value: 'yes' },
    ],
    links: [{ label: 'Page', url: 'https://shop.example/health?token=' }],
  });
});

test('an Uptime Kuma message says what is up again', async () => {
  expect(await only('uptime-kuma', payload('uptime-kuma-up'))).toEqual({
    key: '9',
    state: 'resolved',
    name: 'Database',
    severity: 'critical',
    endedAtMs: at('2026-11-22T14:12:13.004Z'),
    facts: [
      { label: 'type', value: 'port' },
      { label: 'host', value: 'db.example:5432' },
      { label: 'ping', value: '12.4 ms' },
    ],
    links: [],
  });
});

test('an Uptime Kuma message warns of a certificate, whose days make no other alert of it', async () => {
  const sent = payload('uptime-kuma-certificate');
  const alert = await only('uptime-kuma', sent);
  expect(alert).toMatchObject({
    state: 'firing',
    name: 'Shop',
    summary: 'server certificate shop.example will expire in 14 days',
    severity: 'warning',
  });
  const msg = String(sent.msg).replace('14', '7');
  expect((await only('uptime-kuma', { ...sent, msg })).key).toBe(alert.key);
});

test('an Uptime Kuma message may say of nothing that goes on', async () => {
  expect(await parsed('uptime-kuma', payload('uptime-kuma-test'))).toMatchObject({
    alerts: [],
    note: 'This is a test message from Uptime Kuma: the address works.',
  });
  const down = payload('uptime-kuma-down');
  for (const status of [2, 3]) {
    const { alerts, note } = await parsed('uptime-kuma', { ...down, heartbeat: { status } });
    expect(alerts).toEqual([]);
    expect(note).toContain('pending or in maintenance');
  }
});

test('an Uptime Kuma message is refused without what it needs', async () => {
  const down = payload('uptime-kuma-down');
  const refused = async (change: object) => await refusal('uptime-kuma', { ...down, ...change });
  expect(await refused({ monitor: null })).toContain('must have “heartbeat” and “monitor”');
  expect(await refused({ monitor: { name: 'x' } })).toBe('“monitor.id” is missing.');
  expect(await refused({ heartbeat: { status: 4 } })).toContain('must be 0 for down or 1 for up');
  expect(await refusal('uptime-kuma', {})).toContain('or “msg”');
});

test('a generic alert of Datadog', async () => {
  const alert = await only('generic', payload('generic-datadog'));
  expect(alert).toMatchObject({
    key: '8473928471',
    state: 'firing',
    name: '[P1] High load on db-1',
    severity: 'critical',
    startedAtMs: 1_795_356_131_000,
    facts: [
      { label: 'scope', value: 'host:db-1, role:database' },
      { label: 'metric', value: 'system.load.1' },
    ],
    links: [
      {
        label: 'app.datadoghq.com',
        url: 'https://app.datadoghq.com/monitors/1234?group=host%3Adb-1',
      },
    ],
  });
});

test('a generic alert of Gatus, Healthchecks and Checkly', async () => {
  expect(await only('generic', payload('generic-gatus'))).toMatchObject({
    key: 'core/website',
    state: 'resolved',
  });
  expect(await only('generic', payload('generic-healthchecks'))).toMatchObject({
    state: 'firing',
    severity: 'critical',
    startedAtMs: at('2026-11-22T14:02:11Z'),
  });
  expect(await only('generic', payload('generic-checkly'))).toMatchObject({
    state: 'firing',
    severity: 'warning',
    facts: [
      { label: 'region', value: 'eu-central-1' },
      { label: 'response_time', value: '4210' },
    ],
    links: [{ label: 'Result', url: 'https://app.checklyhq.com/checks/b2a6/results/1' }],
  });
});

test.each([
  ['Triggered', 'firing'],
  ['re-triggered', 'firing'],
  ['No Data', 'firing'],
  ['down', 'firing'],
  ['ALERT_FAILURE', 'firing'],
  ['Recovered', 'resolved'],
  ['RESOLVED', 'resolved'],
  ['ALERT_RECOVERY', 'resolved'],
  ['acknowledged', 'acknowledged'],
])('a generic alert that says %s is %s', async (state, expected) => {
  expect((await only('generic', { key: 'a', state })).state).toBe(expected);
});

test('a generic alert is refused with a state that means nothing, or nothing to know it by', async () => {
  expect(await refusal('generic', { key: 'a', state: 'purple' })).toMatch(
    /unknown “state”: “purple”. Use one of: firing, .*resolved/,
  );
  expect(await refusal('generic', { key: 'a', state: 'constructor' })).toContain(
    'unknown “state”: “constructor”',
  );
  expect(await refusal('generic', { key: 'a' })).toContain('has no “state”');
  expect(await refusal('generic', { state: 'down', key: '', name: ' ' })).toContain(
    'must have a “key”',
  );
  expect(await refusal('generic', { alerts: [{ key: 'a', state: 'up' }, { key: 'b' }] })).toContain(
    'alerts[1] has no “state”',
  );
});

test('a generic alert without a key is known by its name and labels', async () => {
  const sent = { name: 'Backup', labels: { host: 'a' } };
  const { key } = await only('generic', { ...sent, state: 'down' });
  expect((await only('generic', { ...sent, state: 'up' })).key).toBe(key);
  expect((await only('generic', { ...sent, labels: {}, state: 'up' })).key).not.toBe(key);
});

describe('a delivery of another kind', () => {
  const SENT: [IntakeKind, string, string][] = [
    ['alertmanager', 'alertmanager-firing', 'an Alertmanager delivery'],
    ['grafana', 'grafana-firing', 'a Grafana delivery'],
    ['pagerduty', 'pagerduty-trigger', 'a PagerDuty event'],
    ['uptime-kuma', 'uptime-kuma-certificate', 'an Uptime Kuma message'],
    ['generic', 'generic-gatus', 'a generic alert'],
  ];
  test.each(SENT)('for %s is named, at the address of another', async (sent, file, title) => {
    for (const [kind] of SENT) {
      // Alertmanager and Grafana take each other's.
      if (kind === sent || (/manager|grafana/.test(kind) && /manager|grafana/.test(sent))) continue;
      const message = await refusal(kind, payload(file));
      expect(message).toContain(`This looks like ${title}`);
      expect(message).toContain(`/monitor intake add ${sent}`);
    }
  });
});
