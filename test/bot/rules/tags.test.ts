import { expect, test } from 'vitest';
import type { ToolContext } from '../../../src/bot/tools/tool.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { answerOver } from '../../helpers/bot/answer-over.ts';
import { toolRunner } from '../../helpers/bot/tool-runner.ts';

const CLOCK = { nowMs: Date.parse('2026-11-27T15:36:00Z'), zone: 'UTC' };
const HOUR_MS = 3_600_000;

const monitor = (name: string, status: string, ...tags: string[]): Monitor => ({
  ...{
    id: name.toLowerCase(),
    name,
    check_type: 'HTTP',
    target: `https://${name.length}.example/`,
  },
  ...{ status, interval_seconds: 60, created_at: '2026-11-01T00:00:00Z', response_time_ms: 120 },
  status_changed_at: '2026-11-27T12:34:00Z',
  ...(tags.length > 0 && { tags }),
});

const MONITORS = [
  monitor('Checkout', 'DOWN', 'eu', 'shop'),
  monitor('Basket', 'UP', 'mail', 'shop', 'us'),
  monitor('Mail', 'UP', 'eu'),
  monitor('Payments (EU)', 'UP', 'eu'),
  monitor('Blog', 'PAUSED', 'team:web', 'us'),
  monitor('Docs', 'DEGRADED'),
  monitor('Search', 'UP', 'production'),
];

const outage = (name: string) => ({
  ...{ id: name, change: 1, outcome: 'status', ended_as: null, cause: 'answered 503' },
  ...{ monitor: name.toLowerCase(), name },
  ...{ started_at: '2026-11-26T10:00:00Z', ended_at: '2026-11-26T11:30:00Z' },
});

const MONITORING: Partial<ToolContext['monitoring']> = {
  list: async () => MONITORS,
  days: async () => ({
    ...{ last: '2026-11-27', next: null },
    monitors: MONITORS.map(({ id, tags = [] }) => {
      const down_ms = Array(20).fill(tags.includes('shop') ? HOUR_MS : 0);
      return { id, up_ms: Array(20).fill(23 * HOUR_MS), down_ms };
    }),
  }),
  show: async (id) => {
    const one = MONITORS.find((each) => each.id === id) ?? monitor('None', 'UP');
    const more = { certificate_ends_at: null, config: {}, maintenance: [], incident: null };
    return { ...one, ...more, created_at: '2026-11-01T00:00:00Z' };
  },
  results: async () => [],
  planned: async () => ({ windows: [], total: 0 }),
  incidentList: async () => ({
    incidents: [outage('Checkout'), outage('Docs')],
    ...{ total: 2, complete: true },
  }),
};

const FIRST_LINES = `
  is everything tagged shop up?  No, 1 of 2 monitors tagged shop is not up (1 DOWN, 1 UP).
  is everything up that is tagged with shop?  No, 1 of 2 monitors tagged shop is not up
  what is down in eu?  1 of 3 monitors tagged eu is down.
  anything broken in EU right now?  Yes, 1 of 3 monitors tagged eu is down.
  what is down in europe?  1 of 3 monitors tagged eu is down.
  what is down in EU or US?  1 of 5 monitors tagged eu or us is down.
  how many eu services are up?  2 of 3 monitors tagged eu are up.
  are all US monitors ok?  No, 1 of 2 monitors tagged us is not up (1 UP, 1 PAUSED).
  which team:web monitors are paused?  1 of 1 monitor tagged team\\:web is paused.
  how many monitors are tagged shop?  There are 2 monitors tagged shop (1 DOWN, 1 UP).
  is production ok?  Yes, the only monitor tagged production is up.
  slowest eu monitor  The slowest monitor tagged eu is **Checkout**
  uptime of shop last week  95.83 % uptime over all 2 monitors tagged shop from 2026-11-16 to 2026-11-22
  was anything down in eu yesterday?  Yes, 1 monitor was down on 26 Nov 2026 (UTC) among monitors tagged eu.
  was anything down in us yesterday?  Yes, 2 monitors were down on 26 Nov 2026 (UTC).
  how many outages did shop have this week?  1 incident from 23 Nov 2026
  ist in eu alles ok?  No, 1 of 3 monitors tagged eu is not up
  was ist mit shop getaggt und ausgefallen?  Yes, 1 of 2 monitors tagged shop is down.
  ¿qué está caído en eu?  1 of 3 monitors tagged eu is down.
  is Mail up?  Yes, **Mail** has been UP
  is everything tagged mail up?  Yes, the only monitor tagged mail is up.
  is Payments EU up?  Yes, **Payments (EU)** has been UP
  tell us what is down  1 of 7 monitors is down.
  is anything tagged asia down?  No monitor is tagged asia. Tags: eu, mail, production, shop, team:web, us.
  what is down that is not tagged eu?  only a model can answer
  what is down except eu?  only a model can answer
  pause all eu monitors  I can change one monitor at a time. Name only one.
  what is down in eu? > and in shop?  1 of 2 monitors tagged shop is down.
  is everything tagged shop up? > and yesterday?  No, 1 monitor was down on 26 Nov 2026 (UTC) among monitors tagged shop.
  what is down in eu? > and everything else?  only a model can answer`;

test.each(
  FIRST_LINES.trim()
    .split(/\n +/)
    .map((row) => row.split('  ')),
)('“%s” is answered first with “%s”', async (question = '', first = '') => {
  const monitoring = MONITORING as ToolContext['monitoring'];
  const run = toolRunner({ url: 'http://127.0.0.1:9', key: 'none' }, { monitoring, ...CLOCK });
  const text = await answerOver(question, { monitors: MONITORS, run, ...CLOCK });
  expect(text.slice(0, first.length)).toBe(first);
});
