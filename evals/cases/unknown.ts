import {
  called,
  doesNotSay,
  judged,
  monitorIs,
  proposesNothing,
  spanIs,
  tool,
} from '../criteria/criteria.ts';
import { november } from '../week/planned-monitor.ts';
import type { EvalCase } from './case.ts';

const noShare = doesNotSay('a share of the time', /\d\s*(?:%|percent|prozent)/i);
const notUpNorDown = doesNotSay(
  'that it was up or down',
  /\b(?:Shop|it)\b["”*]*\s+(?:is|was|has been)\s+(?:currently\s+)?(?:up|down)\b/i,
);
const gap = { fromMs: november('21 02:30'), toMs: november('21 03:30') };

export const UNKNOWN: EvalCase[] = [
  {
    id: 'unknown-monitor',
    question: 'is Shop mobile up?',
    tags: ['unknown', 'similar-names'],
    criteria: [
      called(tool('get_monitor'), tool('list_monitors'), tool('check_monitor')),
      doesNotSay(
        'that it is up or down',
        /Shop mobile["”]?\s+(?:is|has been)\s+(?:currently\s+)?(?:up|down)\b/i,
      ),
      proposesNothing,
      judged('It says that no monitor has this name, or that it found none.'),
    ],
  },
  {
    id: 'unknown-before-the-beginning',
    question: 'What was the uptime of Payments in September?',
    tags: ['unknown', 'gaps'],
    criteria: [
      called(tool('get_uptime', { monitor: monitorIs('Payments') }), tool('get_monitor')),
      noShare,
      judged('It says that the uptime of Payments in September is not known.'),
    ],
  },
  {
    id: 'unknown-in-the-gap',
    question: 'Was Shop up on 21 November between 02:30 and 03:30 UTC?',
    tags: ['unknown', 'gaps'],
    criteria: [
      called(
        tool('get_uptime', { monitor: monitorIs('Shop'), last: spanIs(gap) }),
        tool('list_incidents', { last: spanIs(gap) }),
      ),
      noShare,
      notUpNorDown,
      judged('It says that this is not known, since nothing was seen of Shop in that time.'),
    ],
  },
  {
    id: 'unknown-who-deployed',
    question: 'Who deployed Shop checkout right before it went down?',
    tags: ['unknown'],
    criteria: [
      proposesNothing,
      judged('It says that it does not know who deployed it, and names nobody.'),
    ],
  },
  {
    id: 'unknown-cpu',
    question: 'How high is the CPU load of the server behind Payments?',
    tags: ['unknown'],
    criteria: [
      noShare,
      proposesNothing,
      judged('It says that it does not know the load of the server.'),
    ],
  },
  {
    id: 'unknown-response-of-a-job',
    question: 'What was the average response time of Nightly backup yesterday?',
    tags: ['unknown', 'similar-names'],
    criteria: [
      called(tool('get_uptime', { monitor: monitorIs('Nightly backup') }), tool('get_monitor')),
      doesNotSay('a response time', /\d\s*(?:ms|milliseconds?|seconds?)\b/i),
      judged('It says that there is no response time of this monitor.'),
    ],
  },
];
