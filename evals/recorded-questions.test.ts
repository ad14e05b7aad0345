import { expect, onTestFinished, test } from 'vitest';
import { type Said, startModelProvider } from '../test/fakes/model-provider.ts';
import { temporaryFolder } from '../test/helpers/temporary-folder.ts';
import { dayOf, downDuring, firstOf, lastIncidentOf, namesOf, WEEK } from './cases/facts.ts';
import { askCase } from './run/ask.ts';
import {
  incidentsDuring,
  isFlapping,
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
} from './week/facts.ts';
import { MONITORS } from './week/plan.ts';
import { NOW_MS, november, type PlannedMonitor } from './week/planned-monitor.ts';
import { LANGUAGES, QUESTIONS, type QuestionId } from './week/questions.ts';
import { openWeeks } from './world/week.ts';

const MODEL = 'test-model';

interface SentMessage {
  role: string;
  content: string;
}

/** Tool calls of a model that understands the question, and the expected results. */
interface Scripted {
  calls: Array<[tool: string, input: object]>;
  /** Checks the results, in the order of the calls. */
  // biome-ignore lint/suspicious/noExplicitAny: results of different tools
  gives(...results: any[]): unknown;
  is: unknown;
}

const isoOf = (ms: number) => new Date(ms).toISOString();

/** A monitor's state, with times in minutes. Lists don't contain the reason of a maintenance. */
const standing = ({ name, status, since, reason }: Record<string, string>) => [
  ...[name, status, since?.slice(0, 16), reason],
];
const planned = (monitor: PlannedMonitor) => {
  const { status, sinceMs, reason } = statusOf(monitor);
  const why = status === 'MAINTENANCE' ? undefined : reason;
  return [monitor.name, status, isoOf(sinceMs).slice(0, 16), why];
};

/** To half a hundredth: the service sums up hours and minutes in place of moments. */
const percent = (share: number | null) => expect.closeTo(100 * (share ?? Number.NaN), 2);

const listing = (input: object, monitors: readonly PlannedMonitor[]): Scripted => ({
  calls: [['list_monitors', { ...input, limit: 50 }]],
  gives: ({ monitors: given }) => given.map(standing).sort(),
  is: monitors.map(planned).sort(),
});

const firstListed = (input: object, monitor: PlannedMonitor): Scripted => ({
  calls: [['list_monitors', { ...input, limit: 1 }]],
  gives: ({ monitors: [one] }) => standing(one),
  is: planned(monitor),
});

const silenced = MONITORS.filter((one) => ['PAUSED', 'MAINTENANCE'].includes(statusOf(one).status));
const ofWeek: Scripted['calls'] = [['list_incidents', { last: '7d' }]];
const longest = firstOf(longestIncidents(WEEK));
const most = firstOf(mostIncidents(WEEK));
const shown = (name: string): Scripted => ({
  calls: [['get_monitor', { monitor: name }]],
  gives: ({ monitor }) => standing(monitor),
  is: planned(monitorNamed(name)),
});
const beforeWeekend = { fromMs: WEEK.fromMs, toMs: november('21 00:00') };
const afterWeekend = { fromMs: november('23 00:00'), toMs: NOW_MS };

const SCRIPTED: Record<QuestionId, Scripted> = {
  down: listing({ status: 'down' }, withStatus('DOWN')),
  count: {
    calls: [['list_monitors', { limit: 1 }]],
    gives: ({ total }) => total,
    is: MONITORS.length,
  },
  paused: listing({ status: 'paused_or_maintenance' }, silenced),
  maintenance: listing({ status: 'paused_or_maintenance' }, silenced),
  degraded: listing({ status: 'degraded' }, withStatus('DEGRADED')),
  flapping: listing({ flapping: true }, MONITORS.filter(isFlapping)),
  slowest: firstListed({ sort: 'slowest' }, firstOf(slowestNow())),
  status: shown('Shop checkout'),
  cause: shown('Intranet'),
  uptime: {
    calls: [['get_uptime', { monitor: 'Video', last: '7d' }]],
    gives: ({ span }) => span.uptime_percent,
    is: percent(uptimeOf(monitorNamed('Video'), WEEK).uptime),
  },
  uptimeOfDay: {
    calls: [['get_uptime', { monitor: 'Logistics', from: '2026-11-22', to: '2026-11-22' }]],
    gives: ({ span }) => span.uptime_percent,
    is: percent(uptimeOf(monitorNamed('Logistics'), dayOf(22)).uptime),
  },
  incidents: {
    calls: ofWeek,
    gives: ({ total, complete }) => [total, complete],
    is: [incidentsDuring(WEEK).length, true],
  },
  incidentsOfDay: {
    calls: [['list_incidents', { from: '2026-11-24', to: '2026-11-24', limit: 100 }]],
    gives: ({ incidents }) => incidents.map((one: { monitor: string }) => one.monitor).sort(),
    is: namesOf(incidentsDuring(dayOf(24)).map(({ monitor }) => monitor)).sort(),
  },
  longest: {
    calls: ofWeek,
    gives: ({ by_monitor: sums }) =>
      sums
        .map((sum: { monitor: string; longest_seconds: number }) => [
          sum.longest_seconds,
          sum.monitor,
        ])
        .sort(([a]: number[], [b]: number[]) => Number(b) - Number(a))[0],
    is: [expect.closeTo(lengthOf(longest) / 1000, -1), longest.monitor.name],
  },
  mostIncidents: {
    calls: ofWeek,
    gives: ({ by_monitor: sums }) =>
      Math.max(...sums.map((one: { incidents: number }) => one.incidents)),
    is: most.count,
  },
  mostDowntime: {
    calls: ofWeek,
    gives: ({ by_monitor: [worst] }) => worst.monitor,
    is: firstOf(worstMonitors(WEEK)).monitor.name,
  },
  lastDown: {
    calls: [['list_incidents', { monitor: 'Payroll', last: '30d', limit: 1 }]],
    gives: ({ incidents: [one] }) => [one.started_at.slice(0, 16), one.cause],
    is: [isoOf(lastIncidentOf('Payroll').fromMs).slice(0, 16), lastIncidentOf('Payroll').cause],
  },
  timesDown: {
    calls: [['list_incidents', { monitor: 'shop-eu', from: '2026-11-20' }]],
    gives: ({ total }) => total,
    is: incidentsDuring({ fromMs: november('20 00:00'), toMs: NOW_MS }, [monitorNamed('shop-eu')])
      .length,
  },
  downYesterday: {
    calls: [['list_incidents', { from: '2026-11-25', to: '2026-11-25' }]],
    gives: ({ by_monitor: sums }) => sums.map((one: { monitor: string }) => one.monitor).sort(),
    is: downDuring(dayOf(25)).sort(),
  },
  uptimeOfAll: {
    calls: [['get_uptime', { from: '2026-11-25', to: '2026-11-25' }]],
    gives: ({ uptime_percent: share }) => share,
    is: percent(uptimeOfAll(dayOf(25)).uptime),
  },
  responseTime: {
    calls: [['get_uptime', { monitor: 'Maps', from: '2026-11-25', to: '2026-11-25' }]],
    gives: ({ span }) =>
      span.response_time_ms.mean / Number(meanResponseTime(monitorNamed('Maps'), dayOf(25))),
    is: expect.closeTo(1, 1),
  },
  lastChange: firstListed(
    { sort: 'latest_change' },
    firstOf([...MONITORS].sort((a, b) => statusOf(b).sinceMs - statusOf(a).sinceMs)),
  ),
  newest: firstListed({ sort: 'newest' }, firstOf(newestMonitors())),
  withoutWeekend: {
    calls: [
      ['get_uptime', { monitor: 'Shop', from: '2026-11-19T12:00Z', to: '2026-11-20' }],
      ['get_uptime', { monitor: 'Shop', from: '2026-11-23' }],
    ],
    gives: (...results) => results.map(({ span }) => span.uptime_percent),
    is: [beforeWeekend, afterWeekend].map((span) =>
      percent(uptimeOf(monitorNamed('Shop'), span).uptime),
    ),
  },
};

/** Calls these one after another, and then answers. */
const callingModel =
  (calls: Scripted['calls']) =>
  // biome-ignore lint/suspicious/noExplicitAny: the body of a request
  ({ messages }: any): Said => {
    const done = messages.filter(({ role }: { role: string }) => role === 'tool').length;
    const [name, input] = calls[done] ?? [];
    return name === undefined ? 'Done.' : { calls: [{ name, arguments: JSON.stringify(input) }] };
  };

test('a model that calls the right tools is given what is right, whatever is asked and in which language', async () => {
  const provider = await startModelProvider({ models: [MODEL] });
  const weeks = openWeeks(await temporaryFolder());
  onTestFinished(async () => {
    await weeks.close();
    await provider.close();
  });
  const models = { baseUrl: provider.url, apiKey: provider.apiKey };
  let asked = 0;
  for (const [id, said] of Object.entries(QUESTIONS)) {
    const { calls, gives, is } = SCRIPTED[id as QuestionId];
    for (const language of LANGUAGES) {
      const question = said[language];
      provider.answerWith(callingModel(calls));
      const before = provider.calls.length;
      await askCase({ question }, { model: MODEL, models, week: await weeks.fresh() });
      const rounds = provider.calls.slice(before);
      expect(rounds).toHaveLength(calls.length + 1);
      const prompt: SentMessage[] = rounds.at(-1)?.body.messages;
      expect(prompt.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
        question,
      ]);
      const results = prompt.filter(({ role }) => role === 'tool');
      const given = results.map(({ content }) => JSON.parse(content));
      expect({ question, given: gives(...given) }).toEqual({ question, given: is });
      asked += 1;
    }
  }
  expect(asked).toBe(72);
});
