import {
  count,
  doesNotName,
  duration,
  inGerman,
  inSpanish,
  is,
  judged,
  looked,
  lookedFirst,
  mentions,
  moment,
  monitorIs,
  names,
  namesOnly,
  says,
  since,
  tool,
} from '../criteria/criteria.ts';
import { isFlapping, newestMonitors, slowestNow, withStatus } from '../week/facts.ts';
import { MONITORS } from '../week/plan.ts';
import type { EvalCase } from './case.ts';
import { firstOf, namesOf, now, WORDS } from './facts.ts';

const downs = withStatus('DOWN');
const degraded = withStatus('DEGRADED');
const paused = withStatus('PAUSED');
const inMaintenance = withStatus('MAINTENANCE');
const flapping = MONITORS.filter(isFlapping);
const heartbeats = MONITORS.filter(({ type }) => type === 'HEARTBEAT');
const slowest = firstOf(slowestNow());
const newest = firstOf(newestMonitors());
const latest = firstOf([...MONITORS].sort((a, b) => now(b.name).sinceMs - now(a.name).sinceMs));
const billingEndsMs = firstOf(inMaintenance[0]?.periods ?? []).toMs ?? Number.NaN;

/** The list, or the monitor itself: both tell a status. */
const ofMonitor = (name: string) => [
  tool('get_monitor', { monitor: monitorIs(name) }),
  tool('check_monitor', { monitor: monitorIs(name) }),
  tool('list_monitors'),
];
const listed = (status: string) => [
  tool('list_monitors', { status: is(status, 'not_up') }),
  tool('list_monitors', { status: is(undefined) }),
];

const allDown = [
  looked(...listed('down')),
  names(...namesOf(downs)),
  doesNotName('Shop', 'Warehouse API'),
];

export const STATUS: EvalCase[] = [
  {
    id: 'status-down-since-why',
    question: 'what is down, since when and why?',
    tags: ['status', 'hostile'],
    criteria: [
      ...allDown,
      ...downs.map(({ name }) => since(now(name).sinceMs)),
      mentions('503'),
      mentions('connection refused'),
      mentions('keyword'),
    ],
  },
  {
    id: 'status-all-well',
    question: 'is everything ok?',
    tags: ['status'],
    criteria: [
      looked(...listed('not_up')),
      names(...namesOf(downs)),
      says('that something is down', /\bdown\b/i),
    ],
  },
  {
    id: 'status-how-many',
    question: 'How many monitors are there?',
    tags: ['status'],
    criteria: [looked(tool('list_monitors')), count(MONITORS.length, WORDS.monitors)],
  },
  {
    id: 'status-shop-checkout',
    question: 'Is Shop checkout up?',
    tags: ['status', 'similar-names'],
    criteria: [
      looked(...ofMonitor('Shop checkout')),
      names('Shop checkout'),
      says('that it is down', /\bdown\b/i),
      since(now('Shop checkout').sinceMs),
    ],
  },
  {
    id: 'status-shop-itself',
    question: 'is Shop up?',
    tags: ['status', 'similar-names'],
    criteria: [
      looked(...ofMonitor('Shop')),
      names('Shop'),
      says('that it is up', /\bup\b/i),
      lookedFirst(...ofMonitor('Shop')),
    ],
  },
  {
    id: 'status-intranet-why',
    question: 'why is the Intranet down',
    tags: ['status'],
    criteria: [
      looked(...ofMonitor('Intranet')),
      names('Intranet'),
      mentions('connection refused'),
      since(now('Intranet').sinceMs),
    ],
  },
  {
    id: 'status-paused',
    question: 'which monitors are paused?',
    tags: ['status', 'similar-names'],
    criteria: [
      looked(...listed('paused_or_maintenance')),
      names(...namesOf(paused)),
      doesNotName('Shop', 'Blog', 'Warehouse'),
    ],
  },
  {
    id: 'status-maintenance-until',
    question: 'What is in maintenance, and until when?',
    tags: ['status'],
    criteria: [
      looked(
        tool('get_monitor', { monitor: monitorIs('Billing') }),
        ...listed('paused_or_maintenance'),
      ),
      names('Billing'),
      moment(billingEndsMs),
    ],
  },
  {
    id: 'status-degraded',
    question: 'Are any services degraded?',
    tags: ['status'],
    criteria: [
      looked(...listed('degraded')),
      names(...namesOf(degraded)),
      doesNotName('Search', 'Maps'),
    ],
  },
  {
    id: 'status-forum-why',
    question: 'Why is Forum degraded?',
    tags: ['status', 'similar-names'],
    criteria: [
      looked(...ofMonitor('Forum')),
      names('Forum'),
      mentions('certificate'),
      says(
        'when that ends',
        /\b(?:2026-12-02|2(?:nd)? dec|dec(?:ember)? 2|7 days|seven days|6 days)/i,
      ),
    ],
  },
  {
    id: 'status-flapping',
    question: 'what is flapping?',
    tags: ['status', 'flaps'],
    criteria: [
      looked(
        tool('list_monitors', { flapping: is(true) }),
        tool('list_monitors', { flapping: is(undefined) }),
      ),
      names(...namesOf(flapping)),
      namesOnly(...namesOf(flapping)),
    ],
  },
  {
    id: 'status-chat-stable',
    question: 'Is Chat stable right now?',
    tags: ['status', 'flaps'],
    criteria: [
      looked(...ofMonitor('Chat'), tool('list_incidents', { monitor: monitorIs('Chat') })),
      names('Chat'),
      says('that it goes up and down', /flap|unstable|not stable|up and down|isn[’']t stable/i),
      judged('It tells that Chat is not stable, although it is up at this moment.'),
    ],
  },
  {
    id: 'status-slowest',
    question: "What's the slowest monitor?",
    tags: ['status'],
    criteria: [
      lookedFirst(tool('list_monitors', { sort: is('slowest') })),
      names(slowest.name),
      duration(slowest.responseTimeMs),
    ],
  },
  {
    id: 'status-newest',
    question: 'Which monitor was added last?',
    tags: ['status', 'similar-names'],
    criteria: [
      judged(
        `It tells that ${newest.name} is the newest, or says that it cannot tell since nothing it may call sorts by that.`,
      ),
    ],
  },
  {
    id: 'status-heartbeats',
    question: 'How many heartbeat monitors do we have?',
    tags: ['status'],
    criteria: [
      looked(tool('list_monitors', { check_type: (value) => /^heartbeat$/i.test(String(value)) })),
      count(heartbeats.length, `heartbeats?|${WORDS.monitors}`),
    ],
  },
  {
    id: 'status-last-change',
    question: 'What changed last?',
    tags: ['status', 'flaps'],
    criteria: [
      looked(tool('list_monitors', { sort: is('latest_change') }), tool('list_incidents')),
      names(latest.name),
      since(now(latest.name).sinceMs),
    ],
  },
  {
    id: 'status-down-german',
    question: 'Kannst du mir sagen, was gerade ausgefallen ist?',
    tags: ['status', 'german'],
    criteria: [...allDown, inGerman],
  },
  {
    id: 'status-paused-spanish',
    question: '¿Qué monitores están en pausa?',
    tags: ['status', 'spanish'],
    criteria: [looked(...listed('paused_or_maintenance')), names(...namesOf(paused)), inSpanish],
  },
  {
    id: 'status-payments-all',
    question: 'Are all the Payments monitors fine? Not Payroll, just Payments.',
    tags: ['status', 'similar-names'],
    criteria: [
      looked(
        tool('list_monitors', { text: (value) => /payments/i.test(String(value)) }),
        tool('get_monitor'),
      ),
      names('Payments', 'Payments EU', 'Payments US', 'Payments webhook'),
      says('that they are up', /\bup\b|\bfine\b|\boperational\b/i),
    ],
  },
  {
    id: 'status-interval',
    question: 'how often is shop-eu checked?',
    tags: ['status', 'similar-names'],
    criteria: [
      lookedFirst(tool('get_monitor', { monitor: monitorIs('shop-eu') }), tool('list_monitors')),
      names('shop-eu'),
      duration(firstOf(MONITORS.filter(({ name }) => name === 'shop-eu')).everyMs),
    ],
  },
];
