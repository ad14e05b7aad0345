import { expect, onTestFinished, test } from 'vitest';
import { incidentSummary } from '../../../src/bot/alerts/incident-facts.ts';
import type { ThreadIncident } from '../../../src/bot/incidents/incident-service.ts';
import type { Group, Incident } from '../../../src/bot/incidents/watch-state.ts';
import {
  draftPostmortem,
  draftText,
  type PostmortemFacts,
} from '../../../src/bot/postmortem/postmortem.ts';
import { postmortemAnswer } from '../../../src/bot/postmortem/postmortem-answer.ts';
import { inertFile } from '../../../src/bot/shared/inert-markdown.ts';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';

const day = (time: string) => Date.parse(`2026-11-20T${time}Z`);
const PLACE = 'slack:C1';

const delivery = (place: string, more: object = {}) => ({
  ...{
    place,
    postId: `i@${place}`,
    attempted: true,
    deliveredVersion: 1,
    failures: 0,
    nextTryAtMs: 0,
  },
  posted: { message: 'm', thread: 'm' },
  ...more,
});

const incident: Incident = {
  ...{ kind: 'incident', id: '1a2b3c4d-0000', version: 3, openedAtMs: day('14:03:20') },
  deliveries: [
    delivery(PLACE, { remindedAtMs: day('14:03:21') }),
    delivery('discord:1', { dead: 'gone', posted: undefined }),
  ],
  ...{ monitorId: 'mon_1', name: 'Shop', target: 'https://shop.example/pay', checkType: 'HTTP' },
  ...{ status: 'UP', startedAtMs: day('14:03:00'), endedAtMs: day('14:15:30'), change: 7 },
  reason: 'answered 503 Service Unavailable, expected 200-299',
  acknowledged: { by: 'Ada', atMs: day('14:05:00') },
  snoozed: { by: 'Bob', untilMs: day('15:06:00') },
  notes: [{ by: 'Ada', text: 'restarted the database', atMs: day('14:12:00') }],
};

const nothing: PostmortemFacts['service'] = {
  ...{ monitors: undefined, results: undefined, incidents: undefined, uptime: undefined },
};

const check = (time: string, reason?: string) => ({
  ...{ at: `2026-11-20T${time}.000Z`, ok: reason === undefined, response_time_ms: 120 },
  outcome: reason === undefined ? 'ok' : 'status',
  reason,
});

const service: PostmortemFacts['service'] = {
  monitors: [],
  results: [
    check('13:00:00', 'long before it'),
    check('14:02:00'),
    check('14:03:00', 'answered 503 Service Unavailable, expected 200-299'),
    check('14:04:00', 'answered 503 Service Unavailable, expected 200-299'),
    check('14:10:00', 'connection refused'),
    check('14:15:30'),
    check('14:16:30'),
  ],
  incidents: {
    complete: true,
    incidents: [
      {
        ...{ id: 'b', change: 7, started_at: '2026-11-20T14:03:00.000Z', ended_as: 'UP' },
        ...{ ended_at: '2026-11-20T14:15:30.000Z', cause: 'answered 503', outcome: 'status' },
      },
      {
        ...{ id: 'a', change: 5, started_at: '2026-11-12T09:00:00.000Z', ended_as: 'UP' },
        ...{ ended_at: '2026-11-12T09:02:00.000Z', cause: 'no answer', outcome: 'timeout' },
      },
    ],
  },
  uptime: {
    ...{ from: '2026-10-21T14:03:00.000Z', to: '2026-11-20T14:15:30.000Z', uptime: 0.99876 },
    ...{ up_ms: 1, down_ms: 1, unseen_ms: 7_200_000 },
  },
};

const factsOf = (
  more: Partial<PostmortemFacts> & { of?: Partial<Incident> } = {},
): PostmortemFacts => {
  const { of, ...given } = more;
  const own = { ...incident, ...of };
  return {
    found: { incident: own, group: undefined, all: [own] },
    ...{ service: nothing, place: PLACE, questions: [], nowMs: day('15:00:00') },
    ...given,
  };
};

const textOf = (facts: PostmortemFacts) => draftText(draftPostmortem(facts));

test('a postmortem tells what is known in one order, each moment with its zone', () => {
  const questions = [{ text: 'is it the disk?', atMs: day('14:07:00') }];
  expect(
    textOf(factsOf({ service, questions })),
  ).toBe(`# Postmortem draft: Shop recovered after 12 min 30 s

## Summary

**Shop** (https\\://shop\\.example/pay) was DOWN from 2026-11-20 14:03:00 UTC. It ended at 2026-11-20 14:15:30 UTC, after 12 minutes 30 seconds. Ada acknowledged it 2 minutes after it began. All times are UTC. Written at 2026-11-20 15:00:00 UTC.

## Timeline

- 2026-11-20 14:02:00 UTC: A check passed in 120 ms, the last one before the incident.
- 2026-11-20 14:03:00 UTC: A check failed (status): answered 503 Service Unavailable, expected 200-299.
- 2026-11-20 14:03:00 UTC: **Shop** became DOWN: answered 503 Service Unavailable, expected 200-299.
- 2026-11-20 14:03:20 UTC: Askwatch noticed it.
- 2026-11-20 14:03:21 UTC: Last reminder posted in this channel.
- 2026-11-20 14:05:00 UTC: Ada acknowledged it.
- 2026-11-20 14:06:00 UTC: Bob snoozed it until 2026-11-20 15:06:00 UTC.
- 2026-11-20 14:07:00 UTC: Someone asked in the thread: “is it the disk?”
- 2026-11-20 14:10:00 UTC: A check failed (status): connection refused.
- 2026-11-20 14:12:00 UTC: Ada noted: “restarted the database”
- 2026-11-20 14:15:30 UTC: A check passed in 120 ms.
- 2026-11-20 14:15:30 UTC: **Shop** was UP again.

## Cause

- According to the checks: answered 503 Service Unavailable, expected 200-299
- Type of failure for **Shop**: status.
- Root cause unknown: Askwatch only sees the service from outside.

## Impact

- **Shop** (HTTP, https\\://shop\\.example/pay): DOWN for 12 minutes 30 seconds.
- 3 of 3 checks of **Shop** failed in that time.
- Uptime of **Shop** from 2026-10-21 14:03:00 UTC to 2026-11-20 14:15:30 UTC: 99.88 % (watched for 29 days 22 hours).
- User impact: not known to Askwatch.

## Response

- The alert was posted in 1 channel and failed in 1 channel.
- 2026-11-20 14:05:00 UTC: Ada acknowledged it.
- 2026-11-20 14:06:00 UTC: Bob snoozed it until 2026-11-20 15:06:00 UTC.
- 2026-11-20 14:12:00 UTC: Ada: “restarted the database”
- 1 question asked in the thread: see the timeline.

## Open questions

- What was the root cause?
- Is this a repeat? **Shop** went down 1 time in the 30 days before, last at 2026-11-12 09:00:00 UTC: no answer
- Why did the alert fail in 1 channel?
- How do we prevent this, or detect it sooner?`);
});

test('what is not known is said to be unknown, and asked', () => {
  const {
    reason: _,
    acknowledged: __,
    snoozed: ___,
    notes: ____,
    endedAtMs: _____,
    ...bare
  } = incident;
  const open = { ...bare, status: 'DOWN', unseenFromMs: day('13:50:00') };
  const found = { incident: open, group: undefined, all: [open] };
  const text = textOf(factsOf({ found }));
  expect(text).toContain('# Postmortem draft: Shop is down\n');
  for (const line of [
    'from some time between 2026-11-20 13:50:00 UTC and 2026-11-20 14:03:00 UTC.',
    'It was still ongoing after 57 minutes, when this draft was written. Nobody acknowledged it.',
    '**Shop** became DOWN, and was not checked from 2026-11-20 13:50:00 UTC until then.',
    'The checks gave no cause.',
    'The checks of **Shop** could not be fetched.',
    'The uptime of **Shop** could not be fetched.',
    'Nobody acknowledged or snoozed it.',
    'No notes were added.',
    'It was still ongoing. When will it recover?',
    'What was the root cause? The checks gave no cause.',
    'What fixed it? No notes were added.',
    'Nobody acknowledged it. Who handled it, and how did they notice?',
    'When exactly did it begin or end? Not all of the time was checked.',
    'Has it happened before? Its earlier incidents could not be fetched.',
  ]) {
    expect(text).toContain(line);
  }
  const removed = textOf(factsOf({ of: { gone: true } }));
  expect(removed).toContain('so it is unknown if it recovered');
  // A service that counts changes has removed the monitor. Another may only leave it out.
  expect(removed).toContain('# Postmortem draft: Shop was removed\n');
  expect(removed).toContain('It was removed at ');
  const unlisted = textOf(factsOf({ of: { gone: true, change: undefined } }));
  expect(unlisted).toContain('# Postmortem draft: Shop is no longer listed\n');
  expect(unlisted).toContain('It was no longer listed at ');
  expect(removed).toContain('Did it recover? No checks run anymore.');
});

test('what flapped is told with how often', () => {
  const flapping = {
    ...{ fromMs: day('14:03:00'), downs: 4, isDown: false, changedAtMs: day('14:13:00') },
    ...{ seenAtMs: day('14:13:00'), counted: [] },
  };
  const text = textOf(factsOf({ of: { flapping } }));
  expect(text).toContain(
    'went down 4 times from 2026-11-20 14:03:00 UTC, 8 changes in 10 minutes.',
  );
  expect(text).toContain('Last change, to UP. It went down 4 times until then.');
  expect(text).toContain('Why did it recover in between and fail again?');
});

/** Outages that began together, all of one host. */
function groupOf(count: number, endedAtMs?: number): ThreadIncident {
  const all = Array.from({ length: count }, (_, no): Incident => {
    const { endedAtMs: _ended, ...others } = incident;
    return {
      ...others,
      ...{ id: `i${no}`, monitorId: `mon_${no}`, name: `Shop ${no}`, notes: [] },
      ...{ startedAtMs: day('14:03:00') + no, endedAtMs },
    };
  });
  const members = all.map(
    ({ id: incidentId, monitorId, name, status, startedAtMs, reason = '' }) => ({
      ...{ incidentId, monitorId, name, status, startedAtMs, reason, times: 1, version: 1 },
      endedAtMs,
    }),
  );
  const group: Group = {
    ...{ kind: 'group', id: 'group-1', version: 1, openedAtMs: day('14:03:10'), place: PLACE },
    ...{ deliveries: [delivery(PLACE)], members },
  };
  return { incident: all[0] as Incident, group, all };
}

test('a draft about 500 monitors names some, counts all, and is bounded', () => {
  const text = textOf(factsOf({ found: groupOf(500, day('14:15:30')), service }));
  expect(text.length).toBeLessThan(20_000);
  for (const line of [
    '500 monitors went down together from 2026-11-20 14:03:00 UTC: **Shop 0** (https\\://shop\\.example/pay), **Shop 1** (',
    ' and 495 more. It ended',
    'Ada acknowledged all 500.',
    '**Shop 19** became DOWN',
    'The last of 480 more monitors became DOWN; they are not listed individually.',
    'According to the checks for 500 monitors: answered 503',
    '480 more, not listed here.',
    'What happened at shop\\.example? 500 of the monitors check it.',
  ]) {
    expect(text).toContain(line);
  }
  expect(text).not.toContain('**Shop 20**');
  const goesOn = textOf(factsOf({ found: groupOf(3), service }));
  expect(goesOn).toContain('3 monitors of 3 were still ongoing. When will they recover?');
});

test('what is known of a group without a model names the target of each', () => {
  const text = incidentSummary(groupOf(3));
  expect(text).toContain('\n- Target of Shop 2: https://shop.example/pay');
});

test('a draft about thousands of monitors says which were not compared', () => {
  const text = textOf(factsOf({ found: groupOf(3_000, day('14:15:30')), service }));
  expect(text).toContain('According to the checks for 1000 monitors: answered 503');
  expect(text).toContain('Only the first 1000 monitors were compared.');
  expect(text).toContain('Ada acknowledged all 3000.');
  expect(text).toContain('What do the services that failed together have in common?');
});

test('a timeline that is too long leaves out its middle, and says how much', () => {
  const questions = Array.from({ length: 100 }, (_, no) => ({
    text: `q${no}`,
    atMs: day('14:05:00'),
  }));
  const notes = Array.from({ length: 60 }, (_, no) => ({
    ...{ by: 'Ada', text: `n${no}`, atMs: day('14:06:00') + no },
  }));
  const text = textOf(factsOf({ service, questions, of: { notes } }));
  expect(text).toMatch(/\n- … \d+ more lines not shown …\n/);
  const lines = /## Timeline\n\n([\s\S]*?)\n\n## Cause/.exec(text)?.[1]?.split('\n') ?? [];
  expect(lines).toHaveLength(61);
  expect(lines.at(-1)).toContain('was UP again');
});

const HOSTILE =
  'Shop\n## Cause\n- all *fine* [here](javascript:alert(1)) ![x](https://evil.example/p.png) <img src=x onerror=alert(1)> | a | @everyone <!channel> `x`';

test('nothing that people, names or checks say makes a heading, a row, a link or a mention', () => {
  const facts = factsOf({
    of: {
      ...{ name: HOSTILE, reason: HOSTILE, status: HOSTILE, checkType: HOSTILE, target: HOSTILE },
      notes: [{ by: HOSTILE, text: HOSTILE, atMs: day('14:12:00') }],
      acknowledged: { by: HOSTILE, atMs: day('14:05:00') },
      snoozed: { by: HOSTILE, untilMs: day('15:06:00') },
    },
    questions: [{ text: HOSTILE, atMs: day('14:07:00') }],
    service: {
      ...service,
      results: [check('14:02:00'), { ...check('14:03:00', HOSTILE), outcome: HOSTILE }],
    },
  });
  const text = textOf(facts);
  const headings = text.split('\n').filter((line) => /^\s*#/.test(line));
  expect(headings.map((line) => line.replace(/:.*/, ''))).toEqual([
    ...['# Postmortem draft', '## Summary', '## Timeline', '## Cause', '## Impact'],
    ...['## Response', '## Open questions'],
  ]);
  for (const line of text.split('\n')) expect(line).toMatch(/^($|# |## |- |\*\*)/);
  const unescaped = text.replace(/\\[\s\S]/g, '');
  expect(unescaped).not.toMatch(/[[\]<>|@`]/);
  const file = inertFile(text, 'x');
  expect(file).not.toMatch(/<[a-z/!?]/i);
  expect(file).not.toMatch(/@\w/);
});

test('secrets of a target are not told, nor those of an address in a cause', () => {
  const text = textOf(
    factsOf({
      of: {
        target: 'https://ada:hunter2@shop.example/?token=s3cret',
        reason: 'no answer from https://bob:hunter3@shop.example/?api_key=t0psecret in time',
      },
    }),
  );
  expect(text).toContain('no answer from');
  expect(text).not.toMatch(/hunter2|s3cret|hunter3|t0psecret/);
});

test.each([
  ['<script>alert(1)</script>', '&lt;script>alert(1)&lt;/script>'],
  ['![p](https://evil.example/p.png)', '![p]\\(https://evil.example/p.png)'],
  ['\\![p](https://evil.example)', '\\![p]\\(https://evil.example)'],
  ['![p][r]\n\n[r]: https://evil.example', '![p][r]\n\n[r]\\: https://evil.example'],
  ['\\<b> @everyone \\@here a@b', '&lt;b> &#64;everyone &#64;here a&#64;b'],
  ['<https://evil.example>', '&lt;https://evil.example>'],
  ['1 < 2 and [x] (y)', '1 < 2 and [x] (y)'],
])('a file of %j holds %j', (text, inert) => {
  expect(inertFile(`# T\n\n${text}`, 'x')).toBe(`# T\n\n${inert}\n`);
});

test('a file has a title, and says what was left out', () => {
  expect(inertFile('Words.', 'Postmortem draft: Shop')).toBe(
    '# Postmortem draft: Shop\n\nWords.\n',
  );
  const long = inertFile('x'.repeat(300_000), 'T');
  expect(long.length).toBeLessThan(201_000);
  expect(long).toMatch(/… The rest is cut off because the text is too long\.\n$/);
});

test('a file is named by the incident and its day alone', () => {
  const found = { incident: { ...incident, id: '../../é:x/1' }, group: undefined, all: [] };
  const monitoring = createMonitoringClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k' });
  onTestFinished(() => monitoring.close());
  const { documentOf } = postmortemAnswer(found, {
    ...{
      monitoring,
      place: PLACE,
      remembered: async () => ({ questions: [] }),
      nowMs: day('15:00:00'),
    },
  });
  expect(documentOf('Words.').name).toBe('postmortem-x1-2026-11-20.md');
});
