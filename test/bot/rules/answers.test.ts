import MarkdownIt from 'markdown-it';
import { expect, onTestFinished, test } from 'vitest';
import { understand } from '../../../src/bot/rules/rules.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { toolRunner } from '../../helpers/bot/tool-runner.ts';
import { hostileMarkdown } from '../../helpers/console/hostile-markdown.ts';

const NOW_MS = Date.parse('2026-11-27T15:36:00Z');
const AS_OF = '2026-11-27T15:36:00.000Z';

function answer(question: string, output: Record<string, unknown>): string {
  const understood = understand(question, NOW_MS);
  if (!understood) throw new Error(`Not understood: ${question}`);
  return understood.answer(output);
}

const shop = {
  ...{ id: 'm1', name: 'Shop', check_type: 'HTTP', target: 'https://shop.example/' },
  ...{ status: 'DOWN', since: '2026-11-27T12:34:00.000Z', reason: 'connection refused' },
  ...{ last_checked_at: '2026-11-27T15:35:30.000Z', response_time_ms: 12.4 },
};
const blog = {
  ...{ id: 'm2', name: 'Blog', check_type: 'HTTP', target: 'https://blog.example/' },
  ...{ status: 'DOWN', since: '2026-11-26T23:00:00.000Z', flapping: true },
};

/** What `list_monitors` gives. */
const list = (monitors: object[], more: object = {}) => ({
  ...{ as_of: AS_OF, total: 200, by_status: { DOWN: 2, UP: 198 }, matching: monitors.length },
  ...{ monitors, ...more },
});

/** What `list_incidents` gives. */
const incidents = (all: object[], more: object = {}) => ({
  ...{ from: '2026-11-20T15:36:00.000Z', to: AS_OF, total: all.length, complete: true },
  ...{ incidents: all, by_monitor: [], ...more },
});

const outage = {
  ...{ monitor_id: 'm1', monitor: 'Shop', started_at: '2026-11-26T10:00:00.000Z' },
  ...{ ended_at: '2026-11-26T11:30:00.000Z', lasted_seconds: 5400 },
  ...{ cause: 'answered 503', outcome: 'status' },
};

test.each([
  [
    'what is down, since when and why?',
    `2 of 200 monitors are down (as of 15:36 UTC).

- **Shop**: DOWN since 12:34 UTC (3 hours 2 minutes): connection refused
- **Blog**: DOWN since 26 Nov 23:00 UTC (16 hours 36 minutes); it is flapping: it keeps going up and down`,
  ],
  [
    'Was ist ausgefallen?',
    `2 von 200 Monitoren sind ausgefallen (Stand 15:36 UTC).

- **Shop**: DOWN seit 12:34 UTC (3 Stunden 2 Minuten): connection refused
- **Blog**: DOWN seit 26. Nov. 23:00 UTC (16 Stunden 36 Minuten); flappt: wechselt ständig zwischen UP und DOWN`,
  ],
  [
    '¿Qué está caído?',
    `2 de 200 monitores están caídos (a las 15:36 UTC).

- **Shop**: DOWN desde 12:34 UTC (3 horas 2 minutos): connection refused
- **Blog**: DOWN desde 26 nov 23:00 UTC (16 horas 36 minutos); es inestable: cae y vuelve todo el tiempo (flapping)`,
  ],
])('“%s” is answered with which, since when and why', (question, said) => {
  expect(answer(question, list([shop, blog]))).toBe(said);
});

test.each([
  ['what is down?', 'None of the 200 monitors is down (as of 15:36 UTC).'],
  ['is everything ok?', 'All 200 monitors are up (as of 15:36 UTC).'],
  ['was ist ausgefallen?', 'Keiner der 200 Monitore ist ausgefallen (Stand 15:36 UTC).'],
  ['ist alles in Ordnung?', 'Alle 200 Monitore sind erreichbar (Stand 15:36 UTC).'],
  ['¿qué está caído?', 'Ninguno de los 200 monitores está caído (a las 15:36 UTC).'],
  ['¿está todo bien?', 'Los 200 monitores están en línea (a las 15:36 UTC).'],
])('“%s” has an answer where there is none', (question, said) => {
  expect(answer(question, list([]))).toBe(said);
});

test.each([
  ['what is down?', 'Nothing is down; you have 1 monitor (as of 15:36 UTC).'],
  ['was ist ausgefallen?', 'Nichts ist ausgefallen; es gibt 1 Monitor (Stand 15:36 UTC).'],
  ['¿qué está caído?', 'No hay nada caído; hay 1 monitor (a las 15:36 UTC).'],
])('“%s” has an answer for a single monitor that is up', (question, said) => {
  expect(answer(question, list([], { total: 1, by_status: { UP: 1 } }))).toBe(said);
});

test('without monitors it says that there are none', () => {
  for (const [question, said] of [
    ['what is down?', 'There are no monitors yet.'],
    ['wie viele Monitore gibt es?', 'Es gibt noch keine Monitore.'],
    ['¿está todo bien?', 'Todavía no hay monitores.'],
    ['slowest monitor', 'There are no monitors yet.'],
  ] as const) {
    expect(answer(question, list([], { total: 0, by_status: {} }))).toBe(said);
  }
});

test('a list ends after ten lines, and says how many more there are', () => {
  const many = Array.from({ length: 10 }, (_, at) => ({ ...shop, name: `Shop ${at}` }));
  const said = answer('what is down?', list(many, { matching: 17 }));
  expect(said.match(/^- /gm)).toHaveLength(11);
  expect(said).toMatch(/^17 of 200 .*\n- and 7 more$/s);
  expect(answer('was ist down?', list(many, { matching: 17 }))).toMatch(/\n- und 7 weitere$/);
  expect(answer('¿qué está caído?', list(many, { matching: 17 }))).toMatch(/\n- y 7 más$/);
});

test('what is paused is told apart from what is in maintenance', () => {
  const output = list(
    [
      { ...blog, name: 'A', status: 'PAUSED', flapping: false },
      { ...blog, name: 'B', status: 'MAINTENANCE', flapping: false },
    ],
    { by_status: { PAUSED: 12, MAINTENANCE: 1, UP: 187 }, matching: 13 },
  );
  const paused = answer('which monitors are paused?', output);
  expect(paused).toMatch(/^12 of 200 monitors are paused .*\*\*A\*\*.*\n- and 11 more$/s);
  expect(paused).not.toContain('**B**');
  expect(answer('what is in maintenance?', output)).toMatch(/^1 of 200 monitors is in maintenance/);
});

test('the slowest is told by its last check, without jobs, whose times mean nothing', () => {
  const output = list([
    { ...shop, name: 'Job', check_type: 'HEARTBEAT', response_time_ms: 90_000 },
    { ...shop, status: 'UP', response_time_ms: 2_345 },
    { ...blog, status: 'UP', response_time_ms: 0.2 },
  ]);
  expect(answer('slowest monitor', output)).toBe(
    '**Shop** is the slowest, with 2.3 s at its last check.\n\n- **Shop**: 2.3 s (UP)\n- **Blog**: \\<1 ms (UP)',
  );
  expect(answer('Welcher Monitor ist am langsamsten?', output)).toMatch(/mit 2,3 s bei/);
  expect(answer('slowest monitor', list([blog]))).toBe('No response times have been recorded.');
});

test('the status of one monitor is answered with since when, why, and what is to be known besides', () => {
  const output = { as_of: AS_OF, monitor: { ...shop, stale: true } };
  expect(answer('is Shop up?', output)).toBe(
    `**Shop** has been DOWN since 12:34 UTC (3 hours 2 minutes): connection refused.

- Last check: 15:35 UTC, 12 ms
- no news for a while, so this may be out of date`,
  );
  expect(answer('läuft der Shop?', output)).toMatch(
    /^\*\*Shop\*\* ist DOWN seit 12:34 UTC \(3 Stunden 2 Minuten\): connection refused\.\n/,
  );
  expect(answer('¿está caído Shop?', output)).toMatch(
    /^\*\*Shop\*\* está DOWN desde 12:34 UTC \(3 horas 2 minutos\): connection refused\.\n/,
  );
  expect(answer('check Shop now', output)).toContain('- checked just now');
  expect(answer('is Shop flapping?', output)).toBe('**Shop**: it is not flapping (DOWN).');
});

test('its certificate and how often it is checked are answered', () => {
  const output = { as_of: AS_OF, monitor: shop, interval_seconds: 90 };
  expect(answer('how often is Shop checked?', output)).toBe(
    '**Shop** is checked every 1 minute 30 seconds.',
  );
  const asked = 'when does the certificate of Shop expire?';
  expect(answer(asked, output)).toBe('No certificate is known for **Shop**.');
  expect(answer(asked, { ...output, certificate_ends_at: '2027-01-03T08:00:00.000Z' })).toBe(
    'The certificate of **Shop** expires 3 Jan 2027 08:00 UTC.',
  );
  expect(answer(asked, { ...output, certificate_ends_at: '2026-11-03T08:00:00.000Z' })).toBe(
    'The certificate of **Shop** expired 3 Nov 08:00 UTC.',
  );
});

const uptime = {
  ...{ as_of: AS_OF, monitor_id: 'm1', monitor: 'Shop' },
  span: {
    ...{ from: '2026-11-16T00:00:00.000Z', to: '2026-11-23T00:00:00.000Z' },
    ...{ uptime_percent: 99.985, down_seconds: 90, unseen_seconds: 3600 },
    ...{ checks: 12_345, failed_checks: 2 },
    response_time_ms: { min: 80, mean: 123.4, max: 1_500 },
  },
  span_before: {
    ...{ from: '2026-11-09T00:00:00.000Z', to: '2026-11-16T00:00:00.000Z' },
    ...{ uptime_percent: 100, down_seconds: 0, unseen_seconds: 0 },
    response_time_ms: { min: 70, mean: 100, max: 200 },
  },
};

test('uptime is answered with the time that was looked at, and the time before', () => {
  expect(answer('uptime of Shop last week', uptime)).toBe(
    `**Shop** had an uptime of 99.985 % from 16 Nov to 22 Nov 2026 (UTC).

- Down: 1 minute 30 seconds
- Not watched: 1 hour
- 12,345 checks, 2 failed
- Mean response time: 123 ms (fastest 80 ms, slowest 1.5 s)
- Before that, from 9 Nov to 15 Nov 2026 (UTC): 100 %`,
  );
  expect(answer('Verfügbarkeit von Shop letzte Woche', uptime)).toMatch(
    /^\*\*Shop\*\* hatte eine Verfügbarkeit von 99,985 % vom 16\. Nov\. bis 22\. Nov\. 2026 \(UTC\)\.\n.*12\.345 Prüfungen/s,
  );
  expect(answer('disponibilidad de Shop la semana pasada', uptime)).toMatch(
    /^\*\*Shop\*\* tuvo una disponibilidad de 99,985 % del 16 nov al 22 nov 2026 \(UTC\)\.\n/,
  );
});

test('where nothing was seen, no uptime is made up', () => {
  const { uptime_percent: _, ...unseen } = uptime.span;
  expect(answer('uptime of Shop last week', { ...uptime, span: unseen })).toBe(
    '**Shop** was not watched from 16 Nov to 22 Nov 2026 (UTC), so its uptime is not known.',
  );
  expect(answer('how long was Shop down last week?', { ...uptime, span: unseen })).toMatch(
    /not known\.$/,
  );
});

test('how long it was down and how fast it answered are answered from the same', () => {
  expect(answer('how long was Shop down last week?', uptime)).toMatch(
    /^\*\*Shop\*\* was down for 1 minute 30 seconds from 16 Nov to 22 Nov 2026 \(UTC\)\.\n\n- 99\.985 % uptime/,
  );
  const up = { ...uptime.span_before, checks: 4 };
  expect(answer('how long was Shop down last week?', { ...uptime, span: up })).toMatch(
    /^\*\*Shop\*\* was not down from/,
  );
  expect(answer('response time of Shop last week', uptime)).toBe(
    `**Shop** took 123 ms on average to respond from 16 Nov to 22 Nov 2026 (UTC).

- fastest: 80 ms
- slowest: 1.5 s
- Before that, from 9 Nov to 15 Nov 2026 (UTC): 100 ms (fastest 70 ms, slowest 200 ms)`,
  );
});

const uptimeOfAll = {
  ...{ as_of: AS_OF, first_day: '2026-11-26', last_day: '2026-11-26', uptime_percent: 99.5 },
  monitors: [
    { monitor_id: 'm1', monitor: 'Shop', uptime_percent: 97.5, down_seconds: 2160 },
    { monitor_id: 'm2', monitor: 'Blog', uptime_percent: 100, down_seconds: 0 },
  ],
  total: 5,
};

test('the uptime of all is of whole days, which are said', () => {
  expect(answer('overall uptime yesterday', uptimeOfAll)).toBe(
    '5 monitors had an uptime of 99.5 % on 26 Nov 2026 (UTC), whole days.\n\n- **Shop**: 97.5 %, down: 36 minutes',
  );
  expect(answer('Which monitor had the worst uptime yesterday?', uptimeOfAll)).toMatch(
    /^\*\*Shop\*\* had the lowest uptime: 97\.5 % on 26 Nov 2026 \(UTC\), whole days\./,
  );
  const well = { ...uptimeOfAll, uptime_percent: 100, monitors: uptimeOfAll.monitors.slice(1) };
  expect(answer('worst uptime yesterday', well)).toMatch(/^No monitor was down on 26 Nov 2026/);
});

test('incidents are answered with how many, and each with when, how long and why', () => {
  const { ended_at: _, ...going } = { ...outage, started_at: '2026-11-27T15:06:00.000Z' };
  const found = incidents([{ ...going, lasted_seconds: 1800 }, outage]);
  expect(answer('incidents of Shop in the last 7 days', found)).toBe(
    `2 incidents of **Shop** from 20 Nov 2026 15:36 UTC to 27 Nov 2026 15:36 UTC.

- **Shop**: 15:06 UTC, 30 minutes, ongoing: answered 503
- **Shop**: 26 Nov 10:00 UTC, 1 hour 30 minutes: answered 503`,
  );
  expect(answer('Vorfälle von Shop', incidents([]))).toBe(
    'Keine Vorfälle von **Shop** vom 20. Nov. 2026 15:36 UTC bis 27. Nov. 2026 15:36 UTC.',
  );
});

test('an answer that is not complete says so', () => {
  const found = incidents([outage], { complete: false, total: 40 });
  const said = answer('incidents in the last 7 days', found);
  expect(said).toMatch(/^at least 40 incidents from /);
  expect(said).toMatch(/\n- and at least 39 more\n\nThere may be more: .*\.$/);
  expect(answer('Wie viele Vorfälle gab es in den letzten 7 Tagen?', found)).toMatch(
    /^mindestens 40 Vorfälle .*\n\nEs können mehr sein: /s,
  );
  expect(
    answer('¿Cuántos incidentes hubo en los últimos 7 días?', incidents([], { complete: false })),
  ).toMatch(/^Ningún incidente .*\n\nPuede haber más: /s);
});

const sums = [
  { monitor_id: 'm1', monitor: 'Shop', incidents: 2, down_seconds: 7200, longest_seconds: 5400 },
  { monitor_id: 'm2', monitor: 'Blog', incidents: 3, down_seconds: 3600, longest_seconds: 3000 },
];

test('the longest, the worst and the one with the most incidents are told', () => {
  const found = incidents([outage, { ...outage, monitor: 'Blog', lasted_seconds: 9000 }], {
    by_monitor: sums,
  });
  expect(answer('longest outage', found)).toMatch(
    /^Longest incident from 20 Nov 2026 15:36 UTC to 27 Nov 2026 15:36 UTC: \*\*Blog\*\*, 2 hours 30 minutes\.\n/,
  );
  // Not all are listed: then the sums tell it.
  expect(answer('longest outage', { ...found, total: 5 })).toMatch(
    /: \*\*Shop\*\*, 1 hour 30 minutes\./,
  );
  expect(answer('which monitor had the most downtime?', found)).toMatch(
    /^\*\*Shop\*\* was down the most .*: 2 hours\.\n/,
  );
  expect(answer('which monitor had the most incidents?', found)).toMatch(
    /^\*\*Blog\*\* had the most incidents .*: 3\.\n/,
  );
  expect(answer('what was down yesterday?', found)).toMatch(/^2 monitors were down from /);
});

test('a figure of a part of the incidents says of which part', () => {
  const twenty = Array.from({ length: 20 }, (_, at) => ({ ...sums[0], monitor: `M${at}` }));
  const found = incidents([outage], { total: 900, by_monitor: twenty });
  expect(answer('which monitor had the most incidents?', found)).toMatch(/only the 20 monitors/);
  expect(answer('longest outage', found)).toMatch(/only the 20 monitors/);
  expect(answer('what was down yesterday?', found)).toMatch(
    /^at least 20 monitors were down .*\n- and at least 10 more$/s,
  );
  const newest = incidents([outage], { total: 90, by_monitor: sums.slice(0, 1) });
  expect(answer('longest outage of Shop', newest)).toMatch(/only the newest 2 incidents/);
});

test('the last incident is told', () => {
  expect(answer('when was Shop last down?', incidents([outage], { total: 7 }))).toBe(
    'Latest incident: **Shop**, 26 Nov 10:00 UTC.\n\n- **Shop**: 26 Nov 10:00 UTC, 1 hour 30 minutes: answered 503',
  );
});

test('the last checks are told with what failed', () => {
  const results = [
    { at: '2026-11-27T15:35:30.000Z', ok: true, outcome: 'ok', response_time_ms: 12 },
    {
      at: '2026-11-27T15:34:30.000Z',
      ok: false,
      outcome: 'timeout',
      reason: 'no answer within 10 s',
      response_time_ms: 10_000,
    },
  ];
  const output = { as_of: AS_OF, monitor_id: 'm1', monitor: 'Shop', results };
  expect(answer('last 2 checks of Shop', output)).toBe(
    `The last 2 checks of **Shop**: 1 failed.

- 15:35:30 UTC: passed, 12 ms
- 15:34:30 UTC: failed, 10 s: no answer within 10 s`,
  );
  expect(answer('wann wurde Shop zuletzt geprüft?', output)).toBe(
    '**Shop** wurde zuletzt geprüft: 15:35:30 UTC (bestanden, 12 ms).',
  );
  expect(answer('últimas comprobaciones de Shop', { ...output, results: [] })).toBe(
    'Todavía no se conocen comprobaciones de **Shop**.',
  );
});

test('what a channel hears and who asked how much are told', () => {
  const alerts = { as_of: AS_OF, hears: 'It hears *all* monitors.', hears_every_alert: true };
  expect(answer('what does this channel hear?', alerts)).toBe(
    'It hears \\*all\\* monitors.\n\nIn addition, your Askwatch admin has every alert posted in this channel.',
  );
  const usage = {
    ...{ from: '2026-10-28T15:36:00.000Z', to: AS_OF, answers: 3, tokens: 12_345, by_model: [] },
    by_person: [
      { name: 'Ana', answers: 2, tokens: 12_000 },
      { name: '<@U1>', answers: 1, tokens: 345 },
    ],
  };
  expect(answer('who asked how much?', usage)).toBe(
    `3 answers with 12,345 tokens from 28 Oct 2026 15:36 UTC to 27 Nov 2026 15:36 UTC.

- **Ana**: 2 answers, 12,000 tokens
- **\\<\\@U1\\>**: 1 answer, 345 tokens`,
  );
});

test('a change waits for somebody, which is said in the language of the question', () => {
  for (const [question, said] of [
    ['pause the shop', /^Nothing has changed yet/],
    ['pausiere den Shop', /^Noch ist nichts geändert/],
    ['pausa la tienda', /^Todavía no ha cambiado nada/],
  ] as const) {
    expect(understand(question, NOW_MS)?.waits).toMatch(said);
  }
});

/** As the console reads Markdown. */
const markdown = new MarkdownIt({ html: false, breaks: true, linkify: true });

/** Marks that Markdown, Slack or Discord take for more than text. */
const LIVE = /[`_~[\]<>|#@$&]|:\/\/|www\.|(?<!\*)(?:\*|\*{3,})(?!\*)/;

/** What is more than text, a list and bold names in an answer. */
function livelyIn(said: string): string[] {
  const tags = markdown.render(said).match(/<[a-z]+/g) ?? [];
  const bare = said.replace(/\\[!-/:-@[-`{-~]/g, 'x');
  return [
    ...tags.filter((tag) => !['<p', '<ul', '<li', '<strong'].includes(tag)),
    ...(LIVE.exec(bare) ?? []),
    ...(said.match(UNSEEN) ?? []),
  ];
}

const UNSEEN = /[\u202e\u200b\u2028]|\p{Cs}|[^\P{Cc}\n]/u;

test('a name, a reason or a status from outside is plain text', () => {
  const hostile = [
    ...['**bold** _a_ `b`', '[click](https://evil.example)', '<!channel> <@U1> @everyone', '# big'],
    ...['a\n- **Shop**: UP', 'a\u2028b', '\u202eevil', 'www.evil.example', '||spoiler||', '$x$'],
    ...['&lt;b&gt;', '\\', 'a\\', '*', '', '   ', '\u200b', '<https://evil.example|ok>', ':tada:'],
    ...['\ud800', '`', '![i](x)', '\u0000'],
    ...hostileMarkdown(400).map(([, text]) => text),
  ];
  for (const name of hostile) {
    const monitor = { ...shop, name, reason: name, status: name };
    for (const question of ['what is down?', 'slowest monitor', 'latest changes', 'status']) {
      const said = answer(question, list([monitor], { by_status: { [name]: 1 } }));
      expect([name, livelyIn(said)]).toEqual([name, []]);
      // One line for the one monitor.
      expect(said.split('\n').length).toBeLessThanOrEqual(3);
    }
    const one = answer('is Shop up?', { as_of: AS_OF, monitor });
    expect([name, livelyIn(one)]).toEqual([name, []]);
    const incident = { ...outage, monitor: name, cause: name };
    const found = answer('incidents', incidents([incident]));
    expect([name, livelyIn(found)]).toEqual([name, []]);
  }
});

test('the name in a question is plain text in its answer, too', () => {
  const said = answer('incidents of "<!channel> [a](https://b.example)"', incidents([]));
  expect(said).toMatch(
    /^No incidents of \*\*\\<!channel\\> \\\[a\\\]\(https\\:\/\/b\\\.example\)\*\* from /,
  );
});

test('times that are none throw nothing', () => {
  const broken = { ...shop, since: 'soon', last_checked_at: '' };
  expect(answer('what is down?', list([broken], { as_of: 'now' }))).toContain(
    '**Shop**: DOWN since ?',
  );
  expect(answer('is Shop up?', { as_of: '', monitor: broken })).toContain('**Shop**');
  expect(answer('incidents', incidents([{ ...outage, started_at: '' }], { from: '?' }))).toContain(
    '?',
  );
});

test('every question that reads is answered over a real service', async () => {
  const service = await startMonitoringService({ limit: false });
  onTestFinished(() => service.close());
  service.add({ name: 'Shop', status: 'DOWN' });
  service.add({ name: 'Blog' });
  const run = toolRunner({ url: service.url, key: service.apiKey });
  for (const [question, said] of [
    ['what is down?', /^1 of 2 monitors is down/],
    ['is everything ok?', /^1 of 2 monitors is not up/],
    ['how many monitors are there?', /^There are 2 monitors .*: 1 DOWN, 1 UP\.$/],
    ['list all monitors', /\*\*Blog\*\*/],
    ['status of shop', /^\*\*Shop\*\*/],
    ['latest changes', /./],
    ['slowest monitor', /./],
    ['how many HTTP monitors are there?', /^2 of 2 monitors are of type HTTP\.$/],
    ['what does this channel hear?', /^It hears all monitors\.$/],
    ['who asked how much?', /^0 answers with 0 tokens from /],
  ] as const) {
    const understood = understand(question, Date.now());
    if (!understood) throw new Error(`Not understood: ${question}`);
    const { output } = await run(understood.tool, understood.input);
    expect(understood.answer(output)).toMatch(said);
  }
});
