import {
  duration,
  inGerman,
  inSpanish,
  is,
  judged,
  looked,
  lookedFirst,
  monitorIs,
  names,
  percentage,
  spanIs,
  tool,
} from '../criteria/criteria.ts';
import {
  meanResponseTime,
  monitorNamed,
  uptimeOf,
  uptimeOfAll,
  worstMonitors,
} from '../week/facts.ts';
import { november } from '../week/planned-monitor.ts';
import type { EvalCase } from './case.ts';
import { dayOf, firstOf, WEEK } from './facts.ts';

const ofMonitor = (name: string, span: typeof WEEK) =>
  tool('get_uptime', { monitor: monitorIs(name), last: spanIs(span) });
const uptime = (name: string, span: typeof WEEK) => uptimeOf(monitorNamed(name), span).uptime;

/** All monitors are counted by whole days. */
const worst = firstOf(worstMonitors(WEEK));

/** The mean response time. It's rounded, because it comes from hours. */
const took = (name: string, span: typeof WEEK) =>
  duration(meanResponseTime(monitorNamed(name), span) ?? Number.NaN, { share: 0.03 });

const afternoon = { fromMs: november('23 13:00'), toMs: november('23 15:00') };

export const UPTIME: EvalCase[] = [
  {
    id: 'uptime-video-week',
    question: 'uptime of Video in the last 7 days',
    tags: ['uptime', 'gaps'],
    criteria: [looked(ofMonitor('Video', WEEK)), names('Video'), percentage(uptime('Video', WEEK))],
  },
  {
    id: 'uptime-logistics-day',
    question: 'What was the uptime of Logistics on 22 November?',
    tags: ['uptime', 'similar-names'],
    criteria: [
      looked(ofMonitor('Logistics', dayOf(22))),
      names('Logistics'),
      percentage(uptime('Logistics', dayOf(22))),
    ],
  },
  {
    id: 'uptime-overall-yesterday',
    question: 'overall uptime yesterday',
    tags: ['uptime'],
    criteria: [
      lookedFirst(tool('get_uptime', { monitor: is(undefined), last: spanIs(dayOf(25)) })),
      percentage(uptimeOfAll(dayOf(25)).uptime),
    ],
  },
  {
    id: 'uptime-maps-response-yesterday',
    question: 'response time of Maps yesterday',
    tags: ['uptime', 'similar-names'],
    criteria: [looked(ofMonitor('Maps', dayOf(25))), names('Maps'), took('Maps', dayOf(25))],
  },
  {
    id: 'uptime-maps-slow-afternoon',
    question: 'How slow was Maps on 23 November between 13:00 and 15:00 UTC, on average?',
    tags: ['uptime'],
    criteria: [looked(ofMonitor('Maps', afternoon)), names('Maps'), took('Maps', afternoon)],
  },
  {
    id: 'uptime-worst-week',
    question: 'Which monitor had the worst uptime in the last 7 days?',
    tags: ['uptime'],
    criteria: [
      looked(tool('get_uptime', { monitor: is(undefined) }), tool('list_incidents')),
      names(worst.monitor.name),
    ],
  },
  {
    id: 'uptime-video-german',
    question: 'Verfügbarkeit von Video in den letzten 7 Tagen',
    tags: ['uptime', 'gaps', 'german'],
    criteria: [looked(ofMonitor('Video', WEEK)), percentage(uptime('Video', WEEK)), inGerman],
  },
  {
    id: 'uptime-logistics-spanish',
    question: '¿Cuál fue la disponibilidad de Logistics el 22 de noviembre?',
    tags: ['uptime', 'spanish'],
    criteria: [
      looked(ofMonitor('Logistics', dayOf(22))),
      percentage(uptime('Logistics', dayOf(22))),
      inSpanish,
    ],
  },
  {
    id: 'uptime-warehouse-api-downtime',
    question: 'How long was Warehouse API down on 19 November?',
    tags: ['uptime', 'similar-names'],
    criteria: [
      looked(
        ofMonitor('Warehouse API', dayOf(19)),
        tool('list_incidents', { monitor: monitorIs('Warehouse API') }),
      ),
      names('Warehouse API'),
      duration(uptimeOf(monitorNamed('Warehouse API'), dayOf(19)).downMs),
    ],
  },
  {
    id: 'uptime-payments-compared',
    question: 'Compare the uptime of Payments EU and Payments US over the last 7 days.',
    tags: ['uptime', 'similar-names'],
    criteria: [
      looked(ofMonitor('Payments EU', WEEK)),
      looked(ofMonitor('Payments US', WEEK)),
      names('Payments EU', 'Payments US'),
      percentage(uptime('Payments EU', WEEK)),
      percentage(uptime('Payments US', WEEK)),
      judged('It says that Payments US had the higher uptime of the two.'),
    ],
  },
];
