import { expect, test } from 'vitest';
import { aheadIn, endIn, spanIn, spanInWords } from '../../../src/bot/rules/spans.ts';
import { termsIn, wordsIn } from '../../../src/bot/rules/words.ts';

const HOUR_MS = 3_600_000;
const FRIDAY = { nowMs: Date.parse('2026-11-27T15:36:00Z'), zone: 'UTC' };
const SATURDAY = { nowMs: Date.parse('2026-11-28T15:36:00Z'), zone: 'UTC' };
/** The days after the clocks changed. */
const AFTER_SUMMER = { nowMs: Date.parse('2026-10-26T10:00:00Z'), zone: 'Europe/Berlin' };
const AFTER_WINTER = { nowMs: Date.parse('2026-03-30T10:00:00Z'), zone: 'Europe/Berlin' };

const read = (text: string) => {
  const words = wordsIn(text);
  return [termsIn(words, () => false), words] as const;
};

/** `2026-11-27T15:36` for each end. */
function timesIn(text: string, clock: typeof FRIDAY) {
  const span = spanIn(...read(text), clock);
  return span && [span.fromMs, span.toMs].map((ms) => new Date(ms).toISOString().slice(0, 16));
}

/** Rows of a table: texts in any language, then from and to. */
const rows = (table: string) =>
  [...table.matchAll(/(\S.*) {2}(\S+) {2}(\S+)/g)].flatMap(([, texts = '', from = '', to = '']) =>
    texts.split(' | ').map((text): [string, string, string] => [text, from, to]),
  );

const NOW = '2026-11-27T15:36';

test.each(
  rows(`
    today | heute | hoy  2026-11-27T00:00  ${NOW}
    last quarter | letztes Quartal | el último trimestre | in Q3  2026-07-01T00:00  2026-10-01T00:00
    we released it at 10:30, any errors since?  2026-11-27T10:30  ${NOW}
    since mon 16 nov  2026-11-16T00:00  ${NOW}
    yesterday | gestern | ayer  2026-11-26T00:00  2026-11-27T00:00
    the day before yesterday | vorgestern | anteayer  2026-11-25T00:00  2026-11-26T00:00
    this morning | heute morgen | heute früh | esta mañana  2026-11-27T05:00  2026-11-27T12:00
    yesterday afternoon | ayer por la tarde  2026-11-26T12:00  2026-11-26T18:00
    yesterday evening | gestern abend  2026-11-26T18:00  2026-11-27T00:00
    on Tuesday evening | am Dienstagabend | dienstagabends  2026-11-24T18:00  2026-11-25T00:00
    between 2 and 5 this morning  2026-11-27T02:00  2026-11-27T05:00
    between midnight and 3 today  2026-11-27T00:00  2026-11-27T03:00
    between last Friday evening and Monday morning  2026-11-20T18:00  2026-11-23T12:00
    last night | letzte Nacht | anoche  2026-11-26T18:00  2026-11-27T06:00
    on Tuesday night | in der Nacht am Dienstag | Dienstagnacht  2026-11-24T18:00  2026-11-25T06:00
    3 days ago | three days ago | vor 3 Tagen | hace tres días  2026-11-24T00:00  2026-11-25T00:00
    two weeks ago | vor zwei Wochen | hace 2 semanas  2026-11-13T00:00  2026-11-14T00:00
    the past hour | in the last 60 minutes | vor einer Stunde  2026-11-27T14:36  ${NOW}
    in the last 24 hours | in den letzten 24 Stunden | en las últimas 24 horas  2026-11-26T15:36  ${NOW}
    recently | kürzlich | recientemente  2026-11-26T15:36  ${NOW}
    the last week | the past 7 days | en los últimos 7 días  2026-11-20T15:36  ${NOW}
    last week | letzte Woche | la semana pasada  2026-11-16T00:00  2026-11-23T00:00
    this week | diese Woche | esta semana  2026-11-23T00:00  ${NOW}
    last month | letzten Monat | el mes pasado  2026-10-01T00:00  2026-11-01T00:00
    this month | diesen Monat | este mes  2026-11-01T00:00  ${NOW}
    in October | im Oktober | en octubre  2026-10-01T00:00  2026-11-01T00:00
    in December | im Dezember | en diciembre  2025-12-01T00:00  2026-01-01T00:00
    on Monday | am Montag | el lunes  2026-11-23T00:00  2026-11-24T00:00
    on Friday | am Freitag | el viernes  2026-11-27T00:00  ${NOW}
    last Friday | letzten Freitag | el viernes pasado  2026-11-20T00:00  2026-11-21T00:00
    since Tuesday | seit Dienstag | desde el martes  2026-11-24T00:00  ${NOW}
    since yesterday 9:00 | seit gestern 9 Uhr | since 9am yesterday  2026-11-26T09:00  ${NOW}
    since 9:00 | since 9am | seit 9 Uhr | desde las 9:00  2026-11-27T09:00  ${NOW}
    since 18:00 | since 6pm | seit 18 Uhr | desde las 18:00  2026-11-26T18:00  ${NOW}
    am 24. | API am 24. | el 24 | el 24/11 | el 24/11/2026  2026-11-24T00:00  2026-11-25T00:00
    on 24 November | on Nov 24th | on the 24th | am 24.11. | el 24 de noviembre  2026-11-24T00:00  2026-11-25T00:00
    24.11.2025 | 2025-11-24 | November 24 2025  2025-11-24T00:00  2025-11-25T00:00
    on 28 November | am 28. November  2025-11-28T00:00  2025-11-29T00:00
    from 20 to 22 November | vom 20. bis 22. November | del 20 al 22 de noviembre  2026-11-20T00:00  2026-11-23T00:00
    between 2026-11-20 and 2026-11-22  2026-11-20T00:00  2026-11-23T00:00
    between 10:00 and 12:30 | von 10:00 bis 12:30 | entre las 10:00 y las 12:30  2026-11-27T10:00  2026-11-27T12:30
    yesterday between 10:00 and 12:00 | gestern zwischen 10 und 12 Uhr | ayer de 10:00 a 12:00  2026-11-26T10:00  2026-11-26T12:00
    from 22:00 to 02:00 on Wednesday  2026-11-25T22:00  2026-11-26T02:00
    yesterday at 3pm | gestern um 15 Uhr | ayer a las 15:00  2026-11-26T14:45  2026-11-26T15:30
    ever | jemals | alguna vez  2025-10-23T15:36  ${NOW}
    at the weekend | last weekend | am Wochenende | el fin de semana  2026-11-21T00:00  2026-11-23T00:00
  `),
)('on a Friday, “%s” is from %s to %s', (text, from, to) => {
  expect(timesIn(text, FRIDAY)).toEqual([from, to]);
});

test.each(
  rows(`
    this weekend | at the weekend | am Wochenende | este fin de semana  2026-11-28T00:00  2026-11-28T15:36
    last weekend | letztes Wochenende | el fin de semana pasado  2026-11-21T00:00  2026-11-23T00:00
    last Friday  2026-11-27T00:00  2026-11-28T00:00
    last Saturday  2026-11-21T00:00  2026-11-22T00:00
  `),
)('on a Saturday, “%s” is from %s to %s', (text, from, to) => {
  expect(timesIn(text, SATURDAY)).toEqual([from, to]);
});

test.each(
  rows(`
    gestern | yesterday  2026-10-24T22:00  2026-10-25T23:00
    am Samstag  2026-10-23T22:00  2026-10-24T22:00
    letztes Wochenende  2026-10-23T22:00  2026-10-25T23:00
    gestern zwischen 1 und 4 Uhr  2026-10-24T23:00  2026-10-25T03:00
    gestern um 02:30  2026-10-25T00:15  2026-10-25T02:00
    in den letzten 24 Stunden  2026-10-25T10:00  2026-10-26T10:00
    diesen Monat  2026-09-30T22:00  2026-10-26T10:00
  `),
)('in Berlin after the end of summer time, “%s” is from %s to %s UTC', (text, from, to) => {
  expect(timesIn(text, AFTER_SUMMER)).toEqual([from, to]);
});

test.each(
  rows(`
    gestern  2026-03-28T23:00  2026-03-29T22:00
    gestern von 01:00 bis 04:00  2026-03-29T00:00  2026-03-29T02:00
    yesterday morning  2026-03-29T03:00  2026-03-29T10:00
    letzte Woche  2026-03-22T23:00  2026-03-29T22:00
  `),
)('in Berlin after the start of summer time, “%s” is from %s to %s UTC', (text, from, to) => {
  expect(timesIn(text, AFTER_WINTER)).toEqual([from, to]);
});

const NO_TIMES = `
  on 30 February | am 30. Februar | el 30 de febrero | 2026-02-30 | on 31.02.2026 | on 0 May
  on 99 November | am 99. November | el 99 de noviembre | 2026-13-01 | at 25:00 | um 25 Uhr
  at 12:75 | tomorrow | on 2026-12-24 | in the last 0 hours | Shop`;

test.each(NO_TIMES.trim().split(/ \| |\n +/))('“%s” is no time in the past', (text) => {
  expect(timesIn(text, FRIDAY)).toBeUndefined();
});

test.each([
  ['for 2 hours | für 2 Stunden | por 2 horas | durante dos horas', '2026-11-27T17:36'],
  ['for an hour | für eine Stunde | for 60 minutes', '2026-11-27T16:36'],
  ['for 3 days | für drei Tage | por 3 días', '2026-11-30T15:36'],
  ['until tomorrow 9:00 | bis morgen 9 Uhr | hasta mañana a las 9:00', '2026-11-28T09:00'],
  ['until tomorrow | bis morgen | hasta mañana', '2026-11-28T09:00'],
  ['until 18:00 | until 6pm | bis 18 Uhr | hasta las 18:00', '2026-11-27T18:00'],
  ['until 9:00 | bis 9 Uhr', '2026-11-28T09:00'],
  ['until Monday | bis Montag | hasta el lunes', '2026-11-30T09:00'],
  ['until Monday 8:00 | bis Montag 8 Uhr', '2026-11-30T08:00'],
])('“%s” ends at %s', (texts, end) => {
  for (const text of texts.split(' | ')) {
    expect([text, endIn(...read(text), FRIDAY)]).toEqual([text, Date.parse(`${end}Z`)]);
  }
});

test('a time until tomorrow ends by the clocks of the channel', () => {
  const beforeChange = { nowMs: Date.parse('2026-10-24T10:00:00Z'), zone: 'Europe/Berlin' };
  const endMs = endIn(...read('until tomorrow 9:00'), beforeChange);
  expect(endMs).toBe(Date.parse('2026-10-25T08:00:00Z'));
});

test.each([
  ['in the next two weeks | in den nächsten zwei Wochen | en las próximas dos semanas', 14 * 24],
  ['in the next 30 days | in den nächsten 30 Tagen | en los próximos 30 días', 30 * 24],
  ['within 10 days | innerhalb von 10 Tagen', 10 * 24],
])('“%s” is %i hours ahead', (texts, hours) => {
  for (const text of texts.split(' | ')) {
    expect([text, aheadIn(...read(text), FRIDAY)]).toEqual([text, hours * HOUR_MS]);
  }
});

test.each([
  ['yesterday', 'on 26 Nov 2026 (UTC)'],
  ['last week', 'from 16 Nov 2026 to 22 Nov 2026 (UTC)'],
  ['today', 'on 27 Nov 2026 (UTC)'],
  ['the past hour', 'from 27 Nov 2026 14:36 UTC to 27 Nov 2026 15:36 UTC'],
])('“%s” is written as “%s”', (text, words) => {
  const span = spanIn(...read(text), FRIDAY);
  expect(span && spanInWords(span, FRIDAY)).toBe(words);
});
