import { expect, test } from 'vitest';
import { understand } from '../../src/bot/rules/rules.ts';
import { inWords } from '../../src/bot/shared/text-format.ts';
import { toolRunner } from '../../test/helpers/bot/tool-runner.ts';
import {
  incidentsDuring,
  incidentsOf,
  isFlapping,
  lastDays,
  lengthOf,
  longestIncidents,
  meanResponseTime,
  monitorNamed,
  mostIncidents,
  newestMonitors,
  slowestNow,
  statusOf,
  uptimeOf,
  uptimeOfAll,
  withStatus,
  worstMonitors,
} from './facts.ts';
import { MONITORS } from './plan.ts';
import { DAY_MS, NOW_MS, november } from './planned-monitor.ts';
import { LANGUAGES, type Language, QUESTIONS, type QuestionId } from './questions.ts';
import { startRecordedWeek } from './recorded-week.ts';

/** Checks an answer; `lines` have no Markdown. */
type Right = (lines: string[], language: Language) => boolean;

const WEEK = lastDays(7);
const dayOf = (date: number) => {
  const fromMs = november(`${date} 00:00`);
  return { fromMs, toMs: fromMs + DAY_MS };
};

const all =
  (...checks: Right[]): Right =>
  (lines, language) =>
    checks.every((check) => check(lines, language));
/** The first number of the answer. */
const count =
  (number: number): Right =>
  ([head = '']) =>
    Number(/\d+/.exec(head)?.[0]) === number;
/** All of them in the list, as far as a list goes. */
const listed =
  (names: readonly string[]): Right =>
  (lines) =>
    names.length > 0 &&
    lines.filter((line) => names.some((name) => line.startsWith(`- ${name}: `))).length ===
      Math.min(names.length, 10);
const first =
  (...texts: string[]): Right =>
  ([head = '']) =>
    texts.every((text) => head.includes(text));
const anywhere =
  (...texts: string[]): Right =>
  (lines) =>
    texts.every((text) => lines.join('\n').includes(text));
/** The service rounds, and has hours and minutes in place of moments. */
const percent =
  (share: number | null): Right =>
  ([head = '']) => {
    const said = /([\d.,]+) %/.exec(head)?.[1]?.replace(',', '.');
    return share !== null && Math.abs(Number(said) - 100 * share) < 0.01;
  };
const lasting =
  (ms: number): Right =>
  ([head = ''], language) =>
    head.includes(inLanguage(inWords(ms), language));
const clock = (ms: number) => `${new Date(ms).toISOString().slice(11, 16)} UTC`;

function inLanguage(words: string, language: Language): string {
  const units = {
    en: {},
    de: {
      ...{ days: 'Tage', day: 'Tag', hours: 'Stunden', hour: 'Stunde' },
      ...{ minutes: 'Minuten', minute: 'Minute', seconds: 'Sekunden', second: 'Sekunde' },
    },
    es: {
      ...{ days: 'días', day: 'día', hours: 'horas', hour: 'hora' },
      ...{ minutes: 'minutos', minute: 'minuto', seconds: 'segundos', second: 'segundo' },
    },
  }[language] as Record<string, string>;
  return words.replace(/[a-z]+/g, (word) => units[word] ?? word);
}

const namesOf = (monitors: ReadonlyArray<{ name: string }>) => monitors.map(({ name }) => name);

/** Returns the first item of a list that can't be empty. */
function firstOf<T>([one]: readonly T[]): T {
  if (one === undefined) throw new RangeError('the facts have none');
  return one;
}

const monitor = (name: string) => ({ name, ...statusOf(monitorNamed(name)) });
const downs = withStatus('DOWN');
const longest = firstOf(longestIncidents(WEEK));
const slowest = firstOf(slowestNow());
const most = firstOf(mostIncidents(WEEK));
const worst = firstOf(worstMonitors(WEEK));
const lastOfPayroll = firstOf(incidentsOf(monitorNamed('Payroll')));
const newest = firstOf(newestMonitors());
const latest = firstOf([...MONITORS].sort((a, b) => statusOf(b).sinceMs - statusOf(a).sinceMs));
const [checkout, intranet] = [monitor('Shop checkout'), monitor('Intranet')];
const wentDown = new Set(incidentsDuring(dayOf(25)).map((one) => one.monitor.name));
const meanMs = meanResponseTime(monitorNamed('Maps'), dayOf(25)) ?? Number.NaN;

/** Checks of the questions that rules answer. */
const RIGHT: Partial<Record<QuestionId, Right>> = {
  down: all(
    count(downs.length),
    listed(namesOf(downs)),
    anywhere(...downs.map((one) => clock(statusOf(one).sinceMs))),
    anywhere(...downs.map((one) => statusOf(one).reason ?? '')),
  ),
  count: count(MONITORS.length),
  paused: all(count(withStatus('PAUSED').length), listed(namesOf(withStatus('PAUSED')))),
  maintenance: all(
    count(withStatus('MAINTENANCE').length),
    listed(namesOf(withStatus('MAINTENANCE'))),
  ),
  degraded: all(count(withStatus('DEGRADED').length), listed(namesOf(withStatus('DEGRADED')))),
  flapping: all(
    count(MONITORS.filter(isFlapping).length),
    listed(namesOf(MONITORS.filter(isFlapping))),
  ),
  slowest: all(first(slowest.name), (lines, language) => {
    const said = (slowest.responseTimeMs / 1000).toFixed(1);
    return first(language === 'en' ? said : said.replace('.', ','))(lines, language);
  }),
  status: first(checkout.name, checkout.status, clock(checkout.sinceMs)),
  cause: all(first(intranet.reason ?? ''), lasting(NOW_MS - intranet.sinceMs)),
  uptime: all(percent(uptimeOf(monitorNamed('Video'), WEEK).uptime), first('Video')),
  uptimeOfDay: percent(uptimeOf(monitorNamed('Logistics'), dayOf(22)).uptime),
  incidents: count(incidentsDuring(WEEK).length),
  incidentsOfDay: all(
    count(incidentsDuring(dayOf(24)).length),
    (lines) => lines.filter((line) => line.startsWith('- ')).length === 11,
  ),
  longest: all(first(longest.monitor.name), lasting(lengthOf(longest))),
  mostIncidents: first(most.monitor.name, String(most.count)),
  mostDowntime: first(worst.monitor.name),
  // More than one has that in its name, but one is called so.
  lastDown: all(first('Payroll', clock(lastOfPayroll.fromMs)), anywhere(lastOfPayroll.cause)),
  timesDown: count(
    incidentsDuring({ fromMs: november('20 00:00'), toMs: NOW_MS }, [monitorNamed('shop-eu')])
      .length,
  ),
  downYesterday: all(count(wentDown.size), listed([...wentDown])),
  uptimeOfAll: percent(uptimeOfAll(dayOf(25)).uptime),
  responseTime: ([head = '']) =>
    Math.abs(Number(/(\d+) ms/.exec(head)?.[1]) - meanMs) < 0.02 * meanMs,
  lastChange: first(latest.name, statusOf(latest).status, clock(statusOf(latest).sinceMs)),
  newest: first(newest.name, clock(newest.createdMs)),
};

test('rules answer most questions about a recorded week, and none of them wrongly', async () => {
  const service = await startRecordedWeek();
  const wrong: string[] = [];
  let [asked, right, silent] = [0, 0, 0];
  for (const language of LANGUAGES) {
    // A key may make 120 requests a minute.
    const run = toolRunner({ url: service.url, key: await service.createKey() }, { nowMs: NOW_MS });
    const other = toolRunner(
      { url: service.url, key: await service.createKey() },
      { nowMs: NOW_MS },
    );
    for (const [id, said] of Object.entries(QUESTIONS)) {
      const isRight = RIGHT[id as QuestionId];
      asked += 1;
      const understood = understand(said[language], NOW_MS);
      if (!understood) {
        silent += 1;
        continue;
      }
      const { output } = await (asked % 2 === 0 ? run : other)(understood.tool, understood.input);
      const answer = understood.answer(output);
      const lines = answer.replace(/\\(.)|\*\*/g, '$1').split('\n');
      if (isRight?.(lines, language)) right += 1;
      else wrong.push(`${said[language]}\n${answer}`);
    }
  }
  expect(wrong).toEqual([]);
  expect({ asked, right, silent }).toEqual({ asked: 72, right: 69, silent: 3 });
});
