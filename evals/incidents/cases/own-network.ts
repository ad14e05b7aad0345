import { type CaseOfKind, down, type ScriptedMonitor } from '../case.ts';

const noRoute = (no: number) => `no route to 203.0.113.${40 + no}:443`;
const NO_RESOLVER = 'the name could not be looked up: no answer from the resolver';

/** Services of different hosts that failed within a minute of each other. */
const failedAt = (
  time: string,
  names: readonly string[],
  reasonOf: (no: number) => string,
): ScriptedMonitor[] =>
  names.map((name, no) => ({
    name,
    target: `https://www.${name.toLowerCase().replace(/\W+/g, '-')}-${no}.example`,
    periods: [down(`${time}:${10 + 5 * no}`, 'connection', reasonOf(no))],
  }));

const FAR = ['Shop', 'Payments', 'Careers', 'Billing', 'Tickets', 'Blog', 'Catalogue'];

const shared = {
  isGroup: true,
  right: [/network|uplink|internet|firewall|route|egress|resolver/i],
} as const;

export const OWN_NETWORK: readonly CaseOfKind[] = [
  {
    ...shared,
    id: 'own-network-no-route',
    startedAt: '11:49:10',
    monitors: failedAt('11:49', FAR, noRoute),
    cause: 'The network of Askwatch: 7 monitors of different hosts lost their route at 11:49',
    nextStep: 'Check the uplink of the machine that runs Askwatch',
    shownBy: [/The monitors in trouble check 7 different hosts/, /no route to/],
    wrong: [/shop (itself|crash)/i],
  },
  {
    ...shared,
    id: 'own-network-resolver',
    startedAt: '11:46:10',
    monitors: failedAt('11:46', FAR.slice(0, 6), () => NO_RESOLVER),
    cause: 'The resolver that Askwatch uses does not answer since 11:46, for 6 different hosts',
    nextStep: 'Check the resolver of the machine that runs Askwatch',
    shownBy: [/The monitors in trouble check 6 different hosts/, /no answer from the resolver/],
    wrong: [/nxdomain/i],
  },
  {
    ...shared,
    id: 'own-network-blind',
    startedAt: '11:51:10',
    monitors: failedAt('11:51', FAR.slice(1, 6), noRoute),
    blind: [{ from: '11:50', to: '11:51', why: 'no connection to 203.0.113.9:443' }],
    cause: 'The network of Askwatch failed: it could not see its own monitors at 11:50 either',
    nextStep: 'Check the uplink of the machine that runs Askwatch',
    shownBy: [/Askwatch could not see the monitors/],
  },
  {
    ...shared,
    id: 'own-network-inside-works',
    startedAt: '11:44:10',
    monitors: [
      ...failedAt('11:44', FAR.slice(0, 5), noRoute),
      { name: 'Intranet', target: 'http://10.0.0.7', tags: ['inside'] },
      { name: 'Printer', target: 'http://10.0.0.9', tags: ['inside'] },
    ],
    cause: 'The uplink failed at 11:44: 5 different hosts on the internet have no route',
    nextStep: 'Restart the router of the office',
    shownBy: [/The monitors in trouble check 5 different hosts/],
    wrong: [/intranet (is|was) down/i],
  },
  {
    ...shared,
    id: 'own-network-firewall',
    startedAt: '11:47:10',
    monitors: failedAt('11:47', FAR.slice(2), noRoute),
    found: {
      find_deployments: [
        '2026-11-26T11:46:40Z egress-firewall policy 31 by Kim: deny all from the monitoring subnet',
      ],
    },
    cause: 'The egress firewall policy 31 of 11:46 denies all from the monitoring subnet',
    nextStep: 'Revert policy 31',
    shownBy: [/deny all from the monitoring subnet/],
  },
];
