import { expect, test } from 'vitest';
import { monitorNamed } from './facts.ts';
import { HELD_OUT_QUESTIONS } from './held-out-questions.ts';
import {
  all,
  asksWhich,
  at,
  type Criterion,
  counted,
  declines,
  doesNotSay,
  hasNoEnd,
  is,
  lasting,
  names,
  namesFirst,
  namesOnly,
  no,
  on,
  or,
  type PlainAnswer,
  type PlainProposal,
  percent,
  percents,
  proposes,
  proposesNothing,
  says,
  takes,
  yes,
} from './keys.ts';
import { NEWEST_QUESTIONS } from './newest-questions.ts';
import { PLAIN_QUESTIONS } from './plain-questions.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, november } from './planned-monitor.ts';
import { namedLike } from './right-answers.ts';

const answer = (text: string, ...proposals: PlainProposal[]): PlainAnswer => ({
  text,
  cards: [],
  proposals,
});
const rows = (list: readonly string[]) => list.map((name) => `- **${name}**: since 10:00 UTC`);

const SYNCS = namedLike(/ sync$/);
const STATUS_PAGE = is('Status page', 'UP');
const BACKUPS = ['Nightly backup', 'Nightly backup EU'];

const CASES: Array<[string, Criterion, { right: string[]; wrong: string[] }]> = [
  [
    'says',
    says('503', /\bdown\b/i),
    {
      right: ['**Shop** is DOWN: answered 503', 'answered \\503, so it is down'],
      wrong: ['', 'answered 503', 'It is DOWN'],
    },
  ],
  ['doesNotSay', doesNotSay(/not flapping/), { right: ['flapping'], wrong: ['not flapping'] }],
  ['yes', yes, { right: ['Yes, it is.', '**Shop** is UP.'], wrong: ['No, it is DOWN.', 'None.'] }],
  ['no', no, { right: ['No. **Shop** is DOWN.', 'It is DOWN.'], wrong: ['Yes: it is UP.'] }],
  ['or', or(says('a'), says('b')), { right: ['a', 'b'], wrong: ['c'] }],
  ['all', all(says('a'), says('b')), { right: ['ab'], wrong: ['a', 'b'] }],
  [
    'is',
    STATUS_PAGE,
    {
      right: [
        'Yes, **Status page** is UP since 17 Nov 18:48 UTC.',
        "**Status page** isn't down. It has been **up** for 8 days.",
        '**Status page** is no longer down: it is UP.',
        'Up: **Status page**, after it was DOWN for 9 minutes.',
      ],
      wrong: [
        '',
        'It is UP.',
        '**Status page** is DOWN.',
        '**Status page** is not up: it is DOWN.',
        '**Status page API** is UP.',
        '**Status page**: uptime 100 %.',
      ],
    },
  ],
  [
    'is, for a name in brackets',
    is('Shop (staging)', 'PAUSED'),
    { right: ['**Shop \\(staging\\)** is PAUSED.'], wrong: ['**Shop** is PAUSED.'] },
  ],
  [
    'percent',
    percent(0.989_46),
    {
      right: ['**Video**: 98.95 % (100 % before)', '98.94%', '98.946 %'],
      wrong: ['', '98.96 %', '98.9 %', '100 % before, now 98.95 %', '98.95'],
    },
  ],
  ['percent of nothing', percent(null), { right: [], wrong: ['', '0 %', '100 %'] }],
  ['percents', percents(0.5, 1), { right: ['100 %, then 50 %'], wrong: ['100 %', '50 %'] }],
  [
    'lasting',
    lasting(15 * HOUR_MS + 30 * MINUTE_MS),
    {
      right: ['15 hours 30 minutes', 'for 15 hours and 29 minutes', '15 h 31 min', '930 minutes'],
      wrong: ['', '15 hours', '16 hours', '15 minutes 30 seconds', '15:30', '15 %'],
    },
  ],
  [
    'lasting for days',
    lasting(3 * DAY_MS + 20 * MINUTE_MS),
    {
      right: ['3 days', '3 days 20 minutes', '3 d'],
      wrong: ['3 hours', '2 days', '3 days 5 hours'],
    },
  ],
  [
    'at today',
    at(november('26 11:48')),
    { right: ['since 11:48 UTC', '26 Nov 11:48 UTC'], wrong: ['', '11:47 UTC', '48 minutes'] },
  ],
  [
    'at another day',
    at(november('24 14:03:40')),
    {
      right: [
        '24 Nov 14:03 UTC',
        'on Tuesday at 14:04 UTC',
        'November 24, 14:03',
        '2026-11-24 14:03',
      ],
      wrong: ['14:03 UTC', '25 Nov 14:03 UTC', '24 Nov 14:05 UTC', '24 Nov', '124 Nov 14:03 UTC'],
    },
  ],
  ['on yesterday', on(november('25 09:05')), { right: ['yesterday'], wrong: ['today', '26 Nov'] }],
  [
    'on a day of another week',
    on(Date.parse('2026-12-18T01:00Z')),
    { right: ['18 Dec 01:00 UTC', 'Dec 18'], wrong: ['Friday', '18 Nov', '1 Dec', '8 Dec'] },
  ],
  [
    'takes',
    takes(2_320, null),
    {
      right: ['2.3 s', '2,318 ms', '2300 ms', 'answered in 2.35 seconds'],
      wrong: ['', '2 ms', '2.4 s', '2,400 ms', '12:03 s', '2 minutes'],
    },
  ],
  [
    'counted',
    counted(3),
    {
      right: [
        '3 monitors are DOWN:\n- **Shop**: 7 checks',
        'No. 3 of 200 monitors are down.',
        'On 24 Nov, three incidents of **Shop**.',
        'In the last 7 days: **3**',
        'From 14:00 UTC to 2026-11-26 it was down 3 times for 25 minutes.',
        '**Shop**, **Blog** and **Docs** are down.',
      ],
      wrong: [
        '',
        'No.',
        '4 monitors are DOWN, 3 before',
        'Nothing was down.',
        '3 days',
        '**Shop**',
      ],
    },
  ],
  [
    'counted to nothing',
    counted(0),
    {
      right: [
        '**Shop** had no incidents in the last 7 days.',
        'Nothing was down yesterday.',
        'None of the 200 monitors.',
        "No, **Shop** wasn't down.",
        'No: **Shop** was UP.',
        '**Shop** was down 0 times.',
      ],
      wrong: ['', '**Shop** was down.', 'No. 12 monitors were down.', '**Shop** was down once.'],
    },
  ],
  ['counted twice', counted(2), { right: ['It was down twice.'], wrong: ['It was down once.'] }],
  [
    'names',
    names(['Shop', 'Blog (staging)'], ['Docs']),
    {
      right: [
        rows(['Blog \\(staging\\)', 'Shop', 'Wiki']).join('\n'),
        '**Shop**, **Blog (staging)**',
      ],
      wrong: ['', 'Shop and Blog (staging)', '**Shop**', '**Shop API**, **Blog (staging)**'],
    },
  ],
  [
    'names of more than a list has',
    names(SYNCS, ['Shop']),
    {
      right: [rows(SYNCS.slice(3, 13)).join('\n'), rows(['Shop', ...SYNCS.slice(0, 9)]).join('\n')],
      wrong: [rows(SYNCS.slice(0, 9)).join('\n'), rows(['Wiki', ...SYNCS.slice(0, 9)]).join('\n')],
    },
  ],
  [
    'namesFirst',
    namesFirst('Shop'),
    { right: ['**3** are down, first **Shop**, **Blog**'], wrong: ['**Blog**, **Shop**', 'Shop'] },
  ],
  [
    'namesOnly',
    namesOnly(['Shop']),
    { right: ['**Shop** is **DOWN**', ''], wrong: ['**Shop**, **Blog**', '**Shop API**'] },
  ],
  [
    'asksWhich',
    asksWhich(BACKUPS),
    {
      right: ['Which one? **Nightly backup** or **Nightly backup EU**'],
      wrong: [
        '',
        'Which one?',
        'Which one? **Nightly backup**',
        '**Nightly backup** and **Nightly backup EU** are UP.',
        'Which one? **Nightly backup**, **Nightly backup EU** or **Shop**',
      ],
    },
  ],
  [
    'asksWhich of many',
    asksWhich(SYNCS),
    {
      right: [`Did you mean ${rows(SYNCS.slice(0, 3)).join(', ')}`],
      wrong: [`Did you mean ${rows(SYNCS.slice(0, 2)).join(', ')}`],
    },
  ],
  [
    'declines',
    declines,
    {
      right: ['I can’t answer this without a language model. Ask me what is down.'],
      wrong: [
        '',
        'I can’t answer this.',
        'This needs a language model. **Shop** is well.',
        'This needs a model. 3 monitors are failing.',
        'This needs a model. The uptime is 99.9 %.',
        'This needs a model. Shop is DOWN.',
      ],
    },
  ],
];

test.each(CASES)(
  '%s accepts right answers and rejects wrong ones',
  (_, criterion, { right, wrong }) => {
    expect(right.map((text) => [text, criterion(answer(text))])).toEqual(
      right.map((text) => [text, undefined]),
    );
    expect(wrong.filter((text) => criterion(answer(text)) === undefined)).toEqual([]);
  },
);

const draftOf = (name: string) => ({ monitor: { ...monitorNamed(name), status: 'UP' } });
const pauseOf = (name: string, more = {}): PlainProposal => ({
  tool: 'pause_monitor',
  draft: { ...draftOf(name), ...more },
});

test('proposes takes a monitor by its id, its name or its draft', () => {
  const isRight = proposes('pause_monitor', { monitor: 'Payroll' });
  const typed = (monitor: string) => answer('', { tool: 'pause_monitor', input: { monitor } });
  expect(isRight(answer('', pauseOf('Payroll')))).toBeUndefined();
  expect(isRight(typed('payroll'))).toBeUndefined();
  expect(isRight(typed(monitorNamed('Payroll').id))).toBeUndefined();
  expect(isRight(typed('Payroll export'))).toMatch('another monitor');
  expect(isRight(answer('', pauseOf('Payroll export')))).toMatch('another monitor');
  expect(isRight(answer('**Payroll** is paused.'))).toMatch('0 changes');
  expect(isRight(answer('', pauseOf('Payroll'), pauseOf('Shop')))).toMatch('2 changes');
  expect(isRight(answer('', { ...pauseOf('Payroll'), tool: 'remove_monitor' }))).toMatch('remove');
});

test('proposes compares targets, intervals and times in any form', () => {
  const watches = proposes('create_monitor', { target: 'https://a.example/', interval: 120 });
  const watch = (target: string, interval_seconds: number) =>
    answer('', { tool: 'create_monitor', draft: { target, config: { interval_seconds } } });
  expect(watches(watch('https://a.example', 120))).toBeUndefined();
  expect(watches(watch('https://a.example', 60))).toMatch('another interval');
  expect(watches(watch('https://b.example', 120))).toMatch('another target');
  const silences = proposes('pause_monitor', { until: november('26 18:00') });
  const until = { tool: 'pause_monitor', input: { until: '2026-11-26T18:00Z' } };
  expect(silences(answer('', until))).toBeUndefined();
  expect(silences(answer('', pauseOf('Shop', { untilMs: november('26 18:01') })))).toBeUndefined();
  expect(silences(answer('', pauseOf('Shop', { untilMs: november('26 19:00') })))).toMatch('until');
  expect(silences(answer('', pauseOf('Shop')))).toMatch('until');
});

test('proposes reads the new name of a monitor, not the one it has', () => {
  const renames = proposes('change_monitor', { monitor: 'shop-us', name: 'Shop US' });
  const rename = (from: string, to: string) =>
    answer('', {
      tool: 'change_monitor',
      draft: { ...draftOf('shop-us'), before: { name: from }, change: { name: to } },
    });
  expect(renames(rename('shop-us', 'Shop US'))).toBeUndefined();
  expect(renames(rename('Shop US', 'shop'))).toMatch('another name');
});

test('a pause for good has no end, and a question proposes nothing', () => {
  expect(hasNoEnd(answer('', pauseOf('Shop')))).toBeUndefined();
  expect(hasNoEnd(answer('', pauseOf('Shop', { untilMs: 1 })))).toMatch('end');
  expect(proposesNothing(answer('**Shop** is UP.'))).toBeUndefined();
  expect(proposesNothing(answer('', pauseOf('Shop')))).toMatch('pause_monitor');
});

test('candidates may be buttons', () => {
  const actions = BACKUPS.map((label) => ({ label, command: 'ask', values: {} }));
  const card = { tone: 'info' as const, title: 'Backups', parts: [], actions };
  const isRight = asksWhich(BACKUPS);
  expect(isRight({ ...answer('Which one?'), cards: [card] })).toBeUndefined();
  expect(isRight({ ...answer('Done.'), cards: [card] })).toMatch('asks nothing');
});

test.each([
  ['an empty answer', answer('')],
  ['another monitor', answer('**Wiki EU** is UP since 11 Nov 08:38 UTC, checked at 11:58 UTC.')],
  ['a count of everything', answer('All 200 monitors are UP.')],
  ['a count of nothing', answer('No incidents in the last 7 days.')],
  ['another change', answer('', pauseOf('Wiki API'))],
  ['other candidates', answer('Which one? **Wiki API**, **Wiki EU** or **Wiki login**')],
])('no question has %s as a right answer', (_, wrong) => {
  const questions = [...PLAIN_QUESTIONS, ...HELD_OUT_QUESTIONS, ...NEWEST_QUESTIONS];
  const fooled = questions.filter(({ isRight }) => isRight(wrong) === undefined);
  expect(fooled.map(({ id }) => id)).toEqual([]);
});

test('every question has an id of its own', () => {
  const ids = [...PLAIN_QUESTIONS, ...HELD_OUT_QUESTIONS, ...NEWEST_QUESTIONS].map(({ id }) => id);
  expect(new Set(ids).size).toBe(200);
});
