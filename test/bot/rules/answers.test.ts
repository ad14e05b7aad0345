import MarkdownIt from 'markdown-it';
import { expect, onTestFinished, test } from 'vitest';
import type { ToolContext } from '../../../src/bot/tools/tool.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { answerOver } from '../../helpers/bot/answer-over.ts';
import { HOSTILE_TEXTS } from '../../helpers/bot/hostile-texts.ts';
import { toolRunner } from '../../helpers/bot/tool-runner.ts';

const CLOCK = { nowMs: Date.parse('2026-11-27T15:36:00Z'), zone: 'UTC' };

type Monitoring = ToolContext['monitoring'];
type Monitor = Awaited<ReturnType<Monitoring['list']>>[number];

const monitor = (name: string, more: Partial<Monitor> = {}): Monitor => ({
  ...{ id: name.toLowerCase(), name, check_type: 'HTTP', target: `https://${name}.example/` },
  ...{ status: 'UP', interval_seconds: 90, created_at: '2026-11-01T00:00:00Z' },
  ...{ status_changed_at: '2026-11-01T00:00:00Z', last_checked_at: '2026-11-27T15:35:00Z' },
  ...more,
});

const SINCE = { status_changed_at: '2026-11-27T12:34:00Z', status_reason: 'connection refused' };
const MONITORS = [
  monitor('Shop', { ...SINCE, status: 'DOWN', certificate_ends_at: '2026-12-02T15:36:00Z' }),
  monitor('Blog', { response_time_ms: 1800, certificate_ends_at: '2027-06-01T00:00:00Z' }),
  monitor('Backup', { check_type: 'HEARTBEAT', last_checked_at: '2026-11-27T02:00:00Z' }),
  monitor('Fresh', { status: 'PENDING', last_checked_at: null }),
  monitor('Old', { status: 'PAUSED' }),
];

const outage = (name: string, started_at: string, ended_at: string | null, cause: string) => ({
  ...{ id: started_at, change: 1, outcome: 'status', ended_as: null },
  ...{ monitor: name.toLowerCase(), name, started_at, ended_at, cause },
});
const OUTAGES = [
  outage('Shop', '2026-11-27T12:34:00Z', null, 'connection refused'),
  outage('Blog', '2026-11-26T10:00:00Z', '2026-11-26T11:30:00Z', 'answered 503'),
  outage('Blog', '2026-11-26T08:00:00Z', '2026-11-26T08:30:00Z', 'timed out'),
];

const PLANNED = [
  ['Old', '2026-11-27T15:00:00Z', '2026-11-27T16:00:00Z'],
  ['Blog', '2026-11-28T02:00:00Z', '2026-11-28T04:00:00Z'],
].map(([name = '', starts_at = '', ends_at = '']) => {
  return { monitor: name, name, starts_at, ends_at, timezone: 'UTC', repeats: false };
});

function monitoringOf(monitors: Monitor[]): Partial<Monitoring> {
  return {
    list: async () => monitors,
    async show(id) {
      const one = monitors.find((each) => each.id === id) ?? monitor('None');
      const { created_at = '', certificate_ends_at = null } = one;
      const details = { created_at, certificate_ends_at, config: {}, maintenance: [] };
      return { ...one, ...details, incident: null };
    },
    results: async () => [],
    days: async () => ({ last: '2026-11-27', monitors: [], next: null }),
    planned: async () => ({ windows: PLANNED, total: 2 }),
    rollups: async () => ({ by: 'hour' as const, rollups: [] }),
    async incidentList({ monitor: id, from = '', to = '' }) {
      const incidents = OUTAGES.filter(
        (one) => (!id || one.monitor === id) && one.started_at < to && (one.ended_at ?? to) >= from,
      );
      return { incidents, total: incidents.length, complete: true };
    },
    async uptime(id, { from = '', to = '' } = {}) {
      const length = Date.parse(to) - Date.parse(from);
      const isSeen = id !== 'fresh';
      const down = id === 'blog' && from < '2026-11-26T12' && to > '2026-11-26' ? 7_200_000 : 0;
      const times = { up_ms: length - down, down_ms: down, unseen_ms: isSeen ? 0 : length };
      return { from, to, uptime: isSeen ? 1 - down / length : null, ...times };
    },
  };
}

function answer(question: string, monitors = MONITORS): Promise<string> {
  const monitoring = monitoringOf(monitors) as Monitoring;
  const run = toolRunner({ url: 'http://127.0.0.1:9', key: 'none' }, { monitoring, ...CLOCK });
  return answerOver(question, { monitors, run, ...CLOCK });
}

const FIRST_LINES = `
  is Shop up?  No, **Shop** has been DOWN since 12:34 UTC (3 hours 2 minutes): connection refused
  is Shop down?  Yes, **Shop** has been DOWN
  läuft Blog?  Yes, **Blog** has been UP
  is Fresh up?  No, **Fresh** has been PENDING
  since when is Shop down?  3 hours 2 minutes: **Shop** has been DOWN
  was Blog down yesterday?  Yes, **Blog** was down 2 times on 26 Nov 2026 (UTC), for 2 hours in all.
  was Blog down today?  No, **Blog** was not down on 27 Nov 2026 (UTC).
  how long was Blog down yesterday?  2 hours: **Blog** was down that long on 26 Nov 2026 (UTC).
  how often was Blog down yesterday?  2 incidents: **Blog** was down 2 times on 26 Nov 2026
  how often was Blog down today?  No incident: **Blog** was not down on 27 Nov 2026
  uptime of Blog yesterday  **Blog** was up 91.67 % of the time on 26 Nov 2026 (UTC).
  why was Blog down?  **Blog** was last down on 26 Nov 10:00 UTC, for 1 hour 30 minutes: answered 503.
  uptime of Fresh yesterday  **Fresh** was not checked on 26 Nov 2026 (UTC), so it has no uptime.
  was Fresh down yesterday?  **Fresh** was not checked on 26 Nov 2026 (UTC), so its state is unknown.
  when was Fresh last checked?  **Fresh** has not been checked yet.
  did the backup run today?  Yes, **Backup** was on time on 27 Nov 2026 (UTC). Its last ping came at 02:00 UTC.
  how fast is the backup?  **Backup** is a job that pings Askwatch, so it has no response time.
  how often is Blog checked?  **Blog** is checked every 1 minute 30 seconds.
  when does the certificate of Shop expire?  The certificate of **Shop** expires on 2 Dec 2026, in 5 days.
  does the certificate of Old expire?  Askwatch has seen no certificate of **Old**.
  which certificates expire in the next two weeks?  1 certificate expires within 14 days.
  which certificates expire in the next 2 days?  No certificate expires within 2 days. The next is **Shop**
  what is down?  1 of 5 monitors is down.
  is everything ok?  No, 3 of 5 monitors are not up (1 DOWN, 1 PENDING, 2 UP, 1 PAUSED).
  what is paused?  1 of 5 monitors is paused.
  what is in maintenance?  None of 5 monitors is in maintenance.
  is maintenance planned for tomorrow?  Planned:
  will Blog be down on Monday?  **Blog** has been UP
  is maintenance planned for Blog?  **Blog** has no planned maintenance.
  what is the url of Blog?  **Blog** checks https\\://
  morning, anything down right now?  Yes, 1 of 5 monitors is down.
  did every job run yesterday?  Yes, no monitor was down on 26 Nov 2026 (UTC) among “heartbeat” monitors.
  what can you do?  I answer questions about your services
  and the non-blog one?  only a model can answer
  was anything down in October?  Nothing was checked from 1 Oct 2026 to 31 Oct 2026 (UTC), so its incidents are unknown.
  how often was Fresh down yesterday?  **Fresh** was not checked on 26 Nov 2026 (UTC), so its incidents are unknown.
  uptime of everything in March  The uptime of all monitors is known only for the last 90 days.
  is Blog slower than yesterday?  **Blog** answered in 1.8 s in its last check
  slowest monitors yesterday  I can compare only the last checks. The slowest is **Blog**
  incidents this week compared to last  3 incidents from 23 Nov 2026 to 27 Nov 2026 (UTC), more than from 16 Nov 2026 to 22 Nov 2026 (UTC) (0).
  how many monitors are there?  There are 5 monitors (
  slowest monitor  The slowest is **Blog**: 1.8 s in its last check.
  was anything down yesterday?  Yes, 1 monitor was down on 26 Nov 2026 (UTC).
  was everything up yesterday?  No, 1 monitor was down on 26 Nov 2026 (UTC).
  what had the most incidents yesterday?  **Blog** had the most incidents: 2 on 26 Nov 2026
  pause everything  I can change one monitor at a time.
  pause all but not Shop  I can change one monitor at a time.
  is quux down?  I found no monitor called “quux”.
  pause Shop for 2 hours  {"tool":"pause_monitor","input":{"monitor":"shop","until":"2026-11-27T17:36:00.000Z"}}`;

const answers = FIRST_LINES.trim().split(/\n +/);

test.each(answers.map((row) => row.split('  ')))(
  '“%s” is answered first with “%s”',
  async (question = '', first) => {
    const text = await answer(question);
    expect(text.slice(0, first?.length)).toBe(first);
  },
);

test('rows show the state, the incidents and the uptime of a monitor', async () => {
  expect(await answer('was Blog down yesterday?')).toContain(`

- Status: UP since 1 Nov 00:00 UTC (26 days 15 hours), checked 15:35 UTC, 1.8 s
- Down 26 Nov 10:00 UTC, for 1 hour 30 minutes: answered 503
- Down 26 Nov 08:00 UTC, for 30 minutes: timed out
- Uptime on 26 Nov 2026 (UTC): 91.67 %, down for 2 hours`);
});

test('planned maintenance is listed apart from what is under way', async () => {
  expect(await answer('is maintenance planned for tomorrow?')).toBe(`Planned:

- **Blog** has maintenance from 28 Nov 02:00 UTC to 28 Nov 04:00 UTC

None of 5 monitors is in maintenance.

**Old** is in maintenance until 16:00 UTC.`);
});

test('several monitors and several topics each get a part', async () => {
  expect(await answer('is Shop up, and Blog?')).toMatch(/^No, \*\*Shop.*\n\nYes, \*\*Blog/s);
  const two = await answer('what is down and which certificates expire?');
  expect(two).toMatch(/^1 certificate .*\n\n1 of 5 monitors is down\./s);
});

test('a count of more monitors than one look-up lists is a lower bound', async () => {
  const many = Array.from({ length: 60 }, (_, at) =>
    monitor(`Node${at}`, { status: at < 40 ? 'PAUSED' : 'MAINTENANCE' }),
  );
  expect(await answer('what is paused?', many)).toMatch(
    /^At least \d+ of 60 monitors are paused\./,
  );
});

test('a list ends after ten rows with the number of the others', async () => {
  const many = Array.from({ length: 17 }, (_, at) => monitor(`Node${at}`, { status: 'DOWN' }));
  const text = await answer('what is down?', many);
  expect(text.match(/^- /gm)).toHaveLength(11);
  expect(text).toMatch(/^17 of 17 monitors are down\..*\n- and 7 more$/s);
});

const NO_MONITORS = 'There are no monitors yet. Add one with `/monitor add https://example.com`.';

test.each([
  ['what is down?', NO_MONITORS],
  ['which certificates expire soon?', NO_MONITORS],
  ['slowest monitor', NO_MONITORS],
  ['newest monitors', NO_MONITORS],
  ['what changed?', NO_MONITORS],
])('“%s” has an answer without monitors', async (question, expected) => {
  expect(await answer(question, [])).toBe(expected);
});

test('an answer over a service without history names what it could not look up', async () => {
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => service.close());
  service.add({ name: 'Shop', status: 'DOWN' });
  service.add({ name: 'Blog' });
  const run = toolRunner({ url: service.url, key: service.apiKey }, CLOCK);
  const { monitors } = service;
  const ask = (question: string) => answerOver(question, { monitors, run, ...CLOCK });
  expect(await ask('is Shop up?')).toBe('No, **Shop** is DOWN.');
  expect(await ask('what is down?')).toMatch(/^1 of 2 monitors is down\./);
  for (const question of ['was Blog down yesterday?', 'how often was Blog down?']) {
    expect(await ask(question)).toMatch(/^I couldn't look up the incidents of \*\*Blog\*\*/);
  }
  expect(await ask('uptime of Blog?')).toContain("I couldn't look up the uptime of **Blog**");
  service.failWith({ kind: 'status', status: 403 });
  expect(await ask('is Shop up?')).toBe('Broken.');
});

/** Marks that Markdown, Slack or Discord take for more than text. */
const LIVE =
  /[`_~[\]<>|#@$&]|:\/\/|www\.|(?<!\*)(?:\*|\*{3,})(?!\*)|\p{Cs}|[^\P{Cc}\n]|[\u202e\u2028]/u;

test('a hostile name forms no link, mention or block in an answer', async () => {
  const names = [
    ...HOSTILE_TEXTS,
    ...['# a\n- **Shop**: UP', '\ud800', '', ' ', '**', 'a\\', '$x$', '||a||', ':tada:', '\u0000'],
  ];
  const asked = ['what is down?', 'is everything ok?', 'slowest monitor', 'which certs expire?'];
  for (const name of names) {
    const hostile = { name, status: 'DOWN', status_reason: name, response_time_ms: 5 };
    const one = monitor('x', { ...hostile, certificate_ends_at: '2026-12-01T00:00:00Z' });
    const twin = { ...one, id: 'y' };
    for (const question of [...asked, 'is https://x.example/ down?', `is ${name} down?`]) {
      const text = await answer(question, [one, twin]);
      const tags = new MarkdownIt({ linkify: true }).render(text).match(/<[a-z]+/g) ?? [];
      const blocks = tags.filter((tag) => !/^<(?:p|ul|ol|li|strong|code)$/.test(tag));
      const bare = text.replace('`/monitor list`', '').replace(/\\[!-/:-@[-`{-~]/g, 'x');
      expect([name, blocks, LIVE.exec(bare)?.[0]]).toEqual([name, [], undefined]);
    }
  }
});
