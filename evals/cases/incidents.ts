import {
  count,
  doesNotName,
  duration,
  inGerman,
  inSpanish,
  judged,
  judgedOfTranscript,
  looked,
  mentions,
  moment,
  monitorIs,
  names,
  says,
  spanIs,
  tool,
} from '../criteria/criteria.ts';
import {
  incidentsDuring,
  lengthOf,
  longestIncidents,
  monitorNamed,
  mostIncidents,
  worstMonitors,
} from '../week/facts.ts';
import { SHARED_OUTAGES } from '../week/happenings.ts';
import { NOW_MS, november } from '../week/planned-monitor.ts';
import type { EvalCase } from './case.ts';
import { dayOf, downDuring, firstOf, lastIncidentOf, WEEK, WORDS } from './facts.ts';

const [ofSite = WEEK, ofResolver = WEEK] = SHARED_OUTAGES;
const withCause = (span: typeof ofSite, cause: string) =>
  incidentsDuring(span)
    .filter((incident) => incident.cause.includes(cause))
    .map(({ monitor }) => monitor.name);
const site = withCause(ofSite, 'no route');
const resolver = withCause(ofResolver, 'SERVFAIL');
const besides = downDuring(ofSite).filter((name) => !site.includes(name) && name !== 'Intranet');

const longest = firstOf(longestIncidents(WEEK));
const most = firstOf(mostIncidents(WEEK));
const worst = firstOf(worstMonitors(WEEK));
const sinceFriday = { fromMs: november('20 00:00'), toMs: NOW_MS };
const shopEu = incidentsDuring(sinceFriday, [monitorNamed('shop-eu')]);
const [payroll, portal, backup] = [
  lastIncidentOf('Payroll'),
  lastIncidentOf('Kundenportal München'),
  lastIncidentOf('Nightly backup'),
];

const listedIn = (span: typeof WEEK) => looked(tool('list_incidents', { last: spanIs(span) }));

export const INCIDENTS: EvalCase[] = [
  {
    id: 'incidents-how-many',
    question: 'how many incidents were there in the last 7 days?',
    tags: ['incidents'],
    criteria: [listedIn(WEEK), count(incidentsDuring(WEEK).length, WORDS.incidents)],
  },
  {
    id: 'incidents-longest',
    question: 'What was the longest outage in the past week?',
    tags: ['incidents'],
    criteria: [listedIn(WEEK), names(longest.monitor.name), duration(lengthOf(longest))],
  },
  {
    id: 'incidents-most',
    question: 'which monitor had the most incidents in the last 7 days?',
    tags: ['incidents', 'flaps'],
    criteria: [
      listedIn(WEEK),
      names(most.monitor.name),
      count(most.count, `${WORDS.incidents}|${most.monitor.name}`),
    ],
  },
  {
    id: 'incidents-worst',
    question: 'which service had the most downtime in the last week?',
    tags: ['incidents'],
    criteria: [
      looked(tool('list_incidents'), tool('get_uptime')),
      names(worst.monitor.name),
      duration(worst.downMs),
    ],
  },
  {
    id: 'incidents-payroll-last',
    question: 'When was Payroll last down?',
    tags: ['incidents', 'similar-names'],
    criteria: [
      looked(tool('list_incidents', { monitor: monitorIs('Payroll') })),
      names('Payroll'),
      moment(payroll.fromMs),
      doesNotName('Payroll export'),
    ],
  },
  {
    id: 'incidents-shop-eu-times',
    question: 'How many times did shop-eu go down since 20 November?',
    tags: ['incidents', 'flaps', 'similar-names'],
    criteria: [
      looked(tool('list_incidents', { monitor: monitorIs('shop-eu'), last: spanIs(sinceFriday) })),
      names('shop-eu'),
      count(shopEu.length, WORDS.incidents),
    ],
  },
  {
    id: 'incidents-yesterday',
    question: 'what was down yesterday?',
    tags: ['incidents'],
    criteria: [listedIn(dayOf(25)), names(...downDuring(dayOf(25))), doesNotName('Docs', 'Video')],
  },
  {
    id: 'incidents-eu-site',
    question: 'What happened to the EU monitors on Tuesday afternoon, and did they share a cause?',
    tags: ['incidents', 'unrelated'],
    criteria: [
      looked(tool('list_incidents')),
      names(...site),
      mentions('no route'),
      says('when it began', /\b14:0[23]\b|\b2:03\s*p/i),
      judged(
        `It tells one cause for ${site.join(', ')}: there was no route to one address. It doesn't give this cause to ${besides.join(', ')}.`,
      ),
    ],
  },
  {
    id: 'incidents-docs-same-cause',
    question: 'Docs went down on 24 November while the EU site was down. Same cause?',
    tags: ['incidents', 'unrelated', 'similar-names'],
    criteria: [
      looked(tool('list_incidents')),
      names('Docs'),
      mentions('certificate'),
      judged(
        `It says that Docs had another cause than the EU monitors: its certificate had expired, while they had no route.`,
      ),
      judgedOfTranscript('A result contains the cause of the incident of Docs.'),
    ],
  },
  {
    id: 'incidents-longest-german',
    question: 'Was war der längste Ausfall in den letzten 7 Tagen?',
    tags: ['incidents', 'german'],
    criteria: [listedIn(WEEK), names(longest.monitor.name), duration(lengthOf(longest)), inGerman],
  },
  {
    id: 'incidents-tuesday-spanish',
    question: '¿Cuántos incidentes hubo el 24 de noviembre?',
    tags: ['incidents', 'spanish'],
    criteria: [
      listedIn(dayOf(24)),
      count(incidentsDuring(dayOf(24)).length, WORDS.incidents),
      inSpanish,
    ],
  },
  {
    id: 'incidents-portal-umlaut',
    question: 'When was Kundenportal München last down, for how long and why?',
    tags: ['incidents'],
    criteria: [
      looked(tool('list_incidents', { monitor: monitorIs('Kundenportal München') })),
      names('Kundenportal München'),
      moment(portal.fromMs),
      duration(lengthOf(portal)),
      mentions('keyword'),
    ],
  },
  {
    id: 'incidents-backup-late',
    question: 'did the Nightly backup run on 25 November?',
    tags: ['incidents', 'similar-names'],
    criteria: [
      looked(
        tool('list_incidents', { monitor: monitorIs('Nightly backup') }),
        tool('list_check_results', { monitor: monitorIs('Nightly backup') }),
        tool('list_incidents'),
      ),
      names('Nightly backup'),
      judged(
        `It says that the ping of that night did not come in time, and that it was late until ${new Date(backup.toMs ?? NOW_MS).toISOString().slice(11, 16)} UTC.`,
      ),
    ],
  },
  {
    id: 'incidents-resolver',
    question: 'Which monitors had DNS trouble in the morning of 17 November?',
    tags: ['incidents', 'unrelated'],
    criteria: [
      looked(tool('list_incidents')),
      names(...resolver),
      mentions('SERVFAIL'),
      doesNotName('Blog DNS', 'Mail SPF'),
    ],
  },
];
