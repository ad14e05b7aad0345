import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDelivery } from '../../../src/bot/intake/parse-delivery.ts';
import { PayloadError } from '../../../src/bot/intake/read-payload.ts';
import type { ReportedAlerts } from '../../../src/bot/intake/reported-alert.ts';
import { INTAKE_KINDS, type IntakeKind } from '../../../src/contracts/intake-kinds.ts';
import { expectBounded } from '../../helpers/intake/expect-bounded.ts';
import { payload } from '../../helpers/intake/payloads.ts';
import { long } from '../../helpers/long.ts';

const NOW = Date.parse('2026-11-22T14:05:00Z');

/** The fields of each kind that a sender controls. */
const BODIES: Record<IntakeKind, (texts: Record<string, unknown>, text: unknown) => unknown> = {
  alertmanager: (labels, text) => group(labels, text),
  grafana: (labels, text) => ({ ...group(labels, text), orgId: 1, title: text, message: text }),
  pagerduty: (labels, text) => ({
    routing_key: text,
    event_action: 'trigger',
    payload: {
      summary: text,
      source: text,
      severity: text,
      timestamp: text,
      class: text,
      custom_details: labels,
    },
    links: [{ href: text, text }],
    images: [{ src: text, alt: text }],
    client: text,
    client_url: text,
  }),
  'uptime-kuma': (labels, text) => ({
    heartbeat: { status: 0, time: text, msg: text },
    monitor: {
      ...labels,
      id: 7,
      type: 'http',
      name: text,
      url: text,
      description: text,
      tags: [{ name: text, value: text }],
    },
    msg: text,
  }),
  generic: (labels, text) => ({
    ...labels,
    key: 'a',
    state: 'down',
    name: text,
    summary: text,
    severity: text,
    started_at: text,
    labels,
    links: [text, { label: text, url: text }],
  }),
};

function group(labels: Record<string, unknown>, text: unknown) {
  const alert = {
    status: 'firing',
    labels: { alertname: text, ...labels },
    annotations: { summary: text, runbook_url: text, ...labels },
    startsAt: text,
    endsAt: text,
    generatorURL: text,
    silenceURL: text,
    imageURL: text,
    fingerprint: 'f',
  };
  return { receiver: text, externalURL: text, groupKey: text, alerts: [alert] };
}

const many = (count: number, name = (n: number) => `label_${n}`, value: unknown = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [name(n), value]));

const nested = (depth: number) =>
  JSON.parse(`${'{"a":['.repeat(depth)}1${']}'.repeat(depth)}`) as unknown;

const TEXTS: Record<string, unknown> = {
  mentions: '@everyone @here <!channel> <!here> <@U123> <@&123456789012345678> <!subteam^S1>',
  links:
    '[bank](https://evil.example) <https://evil.example|bank> ![x](https://evil.example/p.png)',
  markup: '**a** _b_ `c` ~d~ > e\n# f\n```g``` ||h|| | i | j |\n- k',
  'control characters': 'a\u0000b\u0007c\u001b[31md\u009be\r\n\u2028f',
  'text that turns around': '\u202egnp.exe\u202c \u2066x\u2069\u200f',
  'half a character': '\ud83d\ude00\ud83d',
  'a million characters': 'x'.repeat(1_000_000),
  'a million spaces': `${' '.repeat(1_000_000)}x`,
  'a million lines': '\n'.repeat(1_000_000),
  'a long word of a scheme': `${'a'.repeat(500_000)}://${'b'.repeat(500_000)}@`,
  'many addresses': 'https://u:p@h.example/ '.repeat(20_000),
  'nothing to see': '\u200b\u2060\u00ad',
  'the year 0': '0000-01-01T00:00:00Z',
  'the year 9999': '9999-12-31T23:59:59Z',
  'a script as a link': 'javascript:alert(1)',
  'a file as a link': 'file:///etc/passwd',
  'credentials in a link': 'https://user:secret@host.example/?api_key=secret&x=1#token=secret',
  'an object for a text': { toString: 'x', valueOf: 'y', toJSON: 'z' },
  'a list for a text': [1, [2, [3]], null],
  'a deep value': nested(30),
  'a number for a text': 1e308,
};

const LABELS: Record<string, Record<string, unknown>> = {
  '20,000 labels': many(20_000),
  'huge names': many(50, (n) => `${n}${'k'.repeat(50_000)}`),
  'huge values': many(50, (n) => `v${n}`, 'v'.repeat(50_000)),
  'a wide value': { wide: many(20_000) },
  'names of prototypes': JSON.parse(
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":"x","hasOwnProperty":1}',
  ),
  'names that say the same twice': JSON.parse('{"a":"1","a":"2","A":"3"}'),
  'names with markup': {
    '@everyone': '@here',
    '[x](https://evil.example)': '<!channel>',
    '\u202e\n': '\u0000',
    '': 'nothing',
  },
  'secrets by name': {
    password: 'hunter2',
    'api-key': 'hunter2',
    url: 'https://a:hunter2@b.example',
  },
  'no texts': { a: null, b: [], c: {}, d: false, e: 0, f: [[[]]] },
};

interface Hostile {
  title: string;
  kind: IntakeKind;
  body: unknown;
}

const ofTexts: Hostile[] = Object.entries(TEXTS).flatMap(([title, text]) =>
  INTAKE_KINDS.map((kind) => ({ title, kind, body: BODIES[kind]({ text }, text) })),
);
const ofLabels: Hostile[] = Object.entries(LABELS).flatMap(([title, labels]) =>
  INTAKE_KINDS.map((kind) => ({ title, kind, body: BODIES[kind](labels, 'x') })),
);
const ofBodies: Hostile[] = [
  null,
  'text',
  7,
  true,
  [],
  [[]],
  {},
  { alerts: null },
  { alerts: {} },
  { alerts: [[]] },
  { alerts: Array.from({ length: 10_001 }, () => ({})) },
  {
    alerts: Array.from({ length: 1_000 }, (_, n) => ({
      status: 'firing',
      state: 'down',
      key: n,
      labels: many(30),
    })),
  },
  { alerts: [{ status: 'firing', state: 'down', labels: many(20_000) }] },
  { event_action: { toString: 'x' } },
  { heartbeat: [], monitor: [] },
  JSON.parse('{"__proto__":{"alerts":[]},"state":"down","key":"a"}'),
].flatMap((body, n) => INTAKE_KINDS.map((kind) => ({ title: `body ${n}`, kind, body })));

const all = [...ofTexts, ...ofLabels, ...ofBodies];

/** The accepted delivery, or the answer to a refused one. */
async function take({
  kind,
  body,
}: Pick<Hostile, 'kind' | 'body'>): Promise<ReportedAlerts | string> {
  try {
    return await parseDelivery(kind, body, NOW);
  } catch (error) {
    if (!(error instanceof PayloadError)) throw error;
    expect(error.message.length).toBeLessThan(1_500);
    expect(error.message).toMatch(/^[^\p{Cc}]+\.$|^[^\p{Cc}]+: [^\p{Cc}]+\.$/u);
    return error.message;
  }
}

/** Refused ones among the bodies that senders may write. */
const refused: Hostile[] = [];

test.each(all)('$kind: $title is bounded or refused', async (hostile) => {
  const taken = await take(hostile);
  expect({}).not.toHaveProperty('polluted');
  if (typeof taken === 'string') {
    if (!ofBodies.includes(hostile)) refused.push(hostile);
    return;
  }
  expectBounded(taken);
  const { alerts } = taken;
  const shown = JSON.stringify(alerts.map(({ labels: _, ...alert }) => alert));
  expect(shown).not.toMatch(/hunter2|secret@|=secret|user:/);
});

test('what senders may write is taken, so that the above has been read at all', () => {
  // An event must say something.
  for (const { kind } of refused) expect(kind).toBe('pagerduty');
  expect(refused.length).toBeLessThan(8);
});

test('40 of 2,000 labels are shown, and how many are not', async () => {
  for (const kind of INTAKE_KINDS) {
    if (kind === 'uptime-kuma') continue;
    const taken = await take({ kind, body: BODIES[kind](many(2_000), 'x') });
    if (typeof taken === 'string') throw new Error(taken);
    const facts = taken.alerts[0]?.facts ?? [];
    expect(facts).toHaveLength(40);
    const leftOut = Number.parseInt(facts.at(-1)?.value ?? '', 10);
    expect(facts.at(-1)?.label).toBe('More');
    expect(leftOut).toBeGreaterThan(1_900);
  }
});

test('others have their turn while a delivery of many alerts is read', async () => {
  const body = {
    alerts: Array.from({ length: 3_000 }, (_, key) => ({ state: 'down', key, labels: many(40) })),
  };
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  const taken = await parseDelivery('generic', body, NOW).finally(() => {
    clearInterval(timer);
  });
  expect(turns).toBeGreaterThan(2);
  expect(taken.alerts).toHaveLength(3_000);
  const bad = { alerts: [...body.alerts, { key: 'a' }].slice(1) };
  await expect(parseDelivery('generic', bad, NOW)).rejects.toThrow('alerts[2999] has no “state”');
});

test('any JSON is accepted or refused', async () => {
  const names = fc.constantFrom(
    ...'alerts status labels annotations fingerprint startsAt endsAt receiver heartbeat monitor id msg time event_action payload summary source dedup_key links href state key name severity started_at __proto__ constructor values truncatedAlerts'.split(
      ' ',
    ),
  );
  const texts = fc.oneof(
    fc.string({ maxLength: 30, unit: 'binary' }),
    fc.constantFrom('firing', 'resolved', 'trigger', 'resolve', 'down', 'up', 'https://a.example/'),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      texts,
      fc.double(),
      fc.constantFrom(null, true, false, 0, 1),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(names, tie('tree'), { maxKeys: 8 }),
    ),
  }));
  const bodies = fc.oneof(
    tree,
    fc
      .tuple(
        fc.constantFrom(
          'alertmanager-firing',
          'pagerduty-trigger',
          'uptime-kuma-down',
          'generic-checkly',
        ),
        fc.dictionary(names, tree, { maxKeys: 3 }),
      )
      .map(([file, change]) => ({ ...payload(file), ...change })),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...INTAKE_KINDS), bodies, async (kind, body) => {
      const taken = await take({ kind, body });
      if (typeof taken !== 'string') expectBounded(taken);
    }),
    { numRuns: long ? 20_000 : 200 },
  );
});
