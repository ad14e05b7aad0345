import { expect, test } from 'vitest';
import { understand } from '../../../src/bot/rules/rules.ts';
import { inWords } from '../../../src/bot/shared/text-format.ts';
import { toolRunner } from '../../helpers/bot/tool-runner.ts';
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
} from '../../helpers/recorded-week/facts.ts';
import { MONITORS } from '../../helpers/recorded-week/plan.ts';
import { DAY_MS, NOW_MS, november } from '../../helpers/recorded-week/planned-monitor.ts';
import { startRecordedWeek } from '../../helpers/recorded-week/recorded-week.ts';

const LANGUAGES = ['en', 'de', 'es'] as const;
type Language = (typeof LANGUAGES)[number];

/** Whether an answer has what is right; `lines` are without marks of Markdown. */
type Right = (lines: string[], language: Language) => boolean;

/** The same question in three languages. */
interface Asked {
  said: Record<Language, string>;
  /** Absent where no tool tells it, or a part of it is for no rule. */
  right?: Right;
}

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

/** Of what cannot be otherwise: the first of a list, which the facts have. */
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

const QUESTIONS: Asked[] = [
  {
    said: {
      en: 'Hey, can you tell me what is down, since when and why?',
      de: 'Kannst du mir sagen, was gerade ausgefallen ist?',
      es: 'Hola, ¿me puedes decir qué está caído y por qué?',
    },
    right: all(
      count(downs.length),
      listed(namesOf(downs)),
      anywhere(...downs.map((one) => clock(statusOf(one).sinceMs))),
      anywhere(...downs.map((one) => statusOf(one).reason ?? '')),
    ),
  },
  {
    said: {
      en: 'How many monitors are there?',
      de: 'Wie viele Monitore gibt es?',
      es: '¿Cuántos monitores hay?',
    },
    right: count(MONITORS.length),
  },
  {
    said: {
      en: 'which monitors are paused?',
      de: 'Welche Monitore sind pausiert?',
      es: '¿Qué monitores están en pausa?',
    },
    right: all(count(withStatus('PAUSED').length), listed(namesOf(withStatus('PAUSED')))),
  },
  {
    said: {
      en: 'what is in maintenance?',
      de: 'Was ist in Wartung?',
      es: '¿Qué está en mantenimiento?',
    },
    right: all(count(withStatus('MAINTENANCE').length), listed(namesOf(withStatus('MAINTENANCE')))),
  },
  {
    said: {
      en: 'Are any services degraded?',
      de: 'Welche Dienste sind beeinträchtigt?',
      es: '¿Qué servicios están degradados?',
    },
    right: all(count(withStatus('DEGRADED').length), listed(namesOf(withStatus('DEGRADED')))),
  },
  {
    said: {
      en: 'what is flapping?',
      de: 'Was flappt gerade?',
      es: '¿Qué monitores están inestables?',
    },
    right: all(
      count(MONITORS.filter(isFlapping).length),
      listed(namesOf(MONITORS.filter(isFlapping))),
    ),
  },
  {
    said: {
      en: "What's the slowest monitor?",
      de: 'Welcher Monitor ist am langsamsten?',
      es: '¿Cuál es el monitor más lento?',
    },
    right: all(first(slowest.name), (lines, language) => {
      const said = (slowest.responseTimeMs / 1000).toFixed(1);
      return first(language === 'en' ? said : said.replace('.', ','))(lines, language);
    }),
  },
  {
    said: {
      en: 'Is Shop checkout up?',
      de: 'Läuft Shop checkout?',
      es: '¿Está Shop checkout en línea?',
    },
    right: first(checkout.name, checkout.status, clock(checkout.sinceMs)),
  },
  {
    said: {
      en: 'why is the Intranet down',
      de: 'Warum ist das Intranet down?',
      es: '¿Por qué está caído Intranet?',
    },
    right: all(first(intranet.reason ?? ''), lasting(NOW_MS - intranet.sinceMs)),
  },
  {
    said: {
      en: 'uptime of Video in the last 7 days',
      de: 'Verfügbarkeit von Video in den letzten 7 Tagen',
      es: 'disponibilidad de Video en los últimos 7 días',
    },
    right: all(percent(uptimeOf(monitorNamed('Video'), WEEK).uptime), first('Video')),
  },
  {
    said: {
      en: 'What was the uptime of Logistics on 22 November?',
      de: 'Wie war die Verfügbarkeit von Logistics am 22.11.?',
      es: '¿Cuál fue la disponibilidad de Logistics el 22 de noviembre?',
    },
    right: percent(uptimeOf(monitorNamed('Logistics'), dayOf(22)).uptime),
  },
  {
    said: {
      en: 'how many incidents were there in the last 7 days?',
      de: 'Wie viele Vorfälle gab es in den letzten sieben Tagen?',
      es: '¿Cuántos incidentes hubo en los últimos 7 días?',
    },
    right: count(incidentsDuring(WEEK).length),
  },
  {
    said: {
      en: 'Incidents on Tuesday',
      de: 'Welche Ausfälle gab es am Dienstag?',
      es: 'incidentes del 24 de noviembre',
    },
    right: all(
      count(incidentsDuring(dayOf(24)).length),
      (lines) => lines.filter((line) => line.startsWith('- ')).length === 11,
    ),
  },
  {
    said: {
      en: 'What was the longest outage in the past week?',
      de: 'Was war der längste Ausfall in den letzten 7 Tagen?',
      es: '¿Cuál fue la caída más larga en la última semana?',
    },
    right: all(first(longest.monitor.name), lasting(lengthOf(longest))),
  },
  {
    said: {
      en: 'which monitor had the most incidents in the last 7 days?',
      de: 'Welcher Monitor hatte in den letzten 7 Tagen die meisten Ausfälle?',
      es: '¿Qué monitor tuvo más incidentes en los últimos 7 días?',
    },
    right: first(most.monitor.name, String(most.count)),
  },
  {
    said: {
      en: 'which service had the most downtime in the last week?',
      de: 'Welcher Monitor hatte in den letzten 7 Tagen die meiste Ausfallzeit?',
      es: '¿Qué monitor tuvo más tiempo de caída en los últimos 7 días?',
    },
    right: first(worst.monitor.name),
  },
  {
    said: {
      en: 'When was Payroll last down?',
      de: 'Wann war Payroll zuletzt down?',
      es: '¿Cuándo se cayó Payroll por última vez?',
    },
    // More than one has that in its name, but one is called so.
    right: all(first('Payroll', clock(lastOfPayroll.fromMs)), anywhere(lastOfPayroll.cause)),
  },
  {
    said: {
      en: 'How many times did shop-eu go down since 20 November?',
      de: 'Wie oft war shop-eu seit dem 20. November down?',
      es: '¿Cuántas veces se cayó shop-eu desde el 20 de noviembre?',
    },
    right: count(
      incidentsDuring({ fromMs: november('20 00:00'), toMs: NOW_MS }, [monitorNamed('shop-eu')])
        .length,
    ),
  },
  {
    said: {
      en: 'what was down yesterday?',
      de: 'Was war gestern ausgefallen?',
      es: '¿Qué estuvo caído ayer?',
    },
    right: all(count(wentDown.size), listed([...wentDown])),
  },
  {
    said: {
      en: 'overall uptime yesterday',
      de: 'Wie war gestern die Verfügbarkeit?',
      es: '¿Cuál fue la disponibilidad total ayer?',
    },
    right: percent(uptimeOfAll(dayOf(25)).uptime),
  },
  {
    said: {
      en: 'response time of Maps yesterday',
      de: 'Antwortzeit von Maps gestern',
      es: 'tiempo de respuesta de Maps ayer',
    },
    right: ([head = '']) => Math.abs(Number(/(\d+) ms/.exec(head)?.[1]) - meanMs) < 0.02 * meanMs,
  },
  {
    said: {
      en: 'What changed last?',
      de: 'Was hat sich zuletzt geändert?',
      es: '¿Qué ha cambiado recientemente?',
    },
    right: first(latest.name, statusOf(latest).status, clock(statusOf(latest).sinceMs)),
  },
  {
    said: {
      en: 'Which monitor is the newest?',
      de: 'Welcher Monitor ist der neueste?',
      es: '¿Cuál es el monitor más nuevo?',
    },
    right: first(newest.name, clock(newest.createdMs)),
  },
  {
    said: {
      en: 'uptime of Shop in the last 7 days excluding the weekend',
      de: 'Verfügbarkeit von Shop in den letzten 7 Tagen ohne das Wochenende',
      es: 'disponibilidad de Shop en los últimos 7 días sin el fin de semana',
    },
  },
];

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
    for (const [index, { said, right: isRight }] of QUESTIONS.entries()) {
      asked += 1;
      const understood = understand(said[language], NOW_MS);
      if (!understood) {
        silent += 1;
        continue;
      }
      const { output } = await (index % 2 === 0 ? run : other)(understood.tool, understood.input);
      const answer = understood.answer(output);
      const lines = answer.replace(/\\(.)|\*\*/g, '$1').split('\n');
      if (isRight?.(lines, language)) right += 1;
      else wrong.push(`${said[language]}\n${answer}`);
    }
  }
  expect(wrong).toEqual([]);
  expect({ asked, right, silent }).toEqual({ asked: 72, right: 69, silent: 3 });
});
