import { answered, type CaseOfKind, degraded, failing } from '../case.ts';

const slower = [
  ['01-01 00:00', 120],
  ['11:30', 420],
  ['11:38', 1_900],
  ['11:44', 6_300],
] as const;

export const OVERLOAD: readonly CaseOfKind[] = [
  {
    id: 'overload-growing',
    startedAt: '11:51',
    monitors: [
      failing('Shop', '11:51', 'timeout', 'no answer from 192.0.2.30 within 10 s', {
        levels: slower,
      }),
      { name: 'Shop images' },
    ],
    cause: 'Overload: response times of Shop grew to 6 seconds until it timed out at 11:51',
    nextStep: 'Add capacity, and look for the source of the load',
    right: [/overload|load|slow|capacity|response time/i],
    shownBy: [/Response times of .*: .*\b[1-9]\d{3} ms/],
    wrong: [/network of askwatch/i],
  },
  {
    id: 'overload-processor',
    startedAt: '11:45',
    isAboutAlert: true,
    monitors: [{ name: 'Search', tags: ['search'] }],
    alerts: [
      {
        ...{ name: 'Latency of search above 2 s', from: '11:45', intake: 'Alertmanager' },
        reason: 'p95 is 2.4 s.',
        facts: { service: 'search', severity: 'critical' },
      },
      {
        ...{ name: 'CPU of search-1 at 98 %', from: '11:41', intake: 'Alertmanager' },
        reason: 'search-1 uses 98 % of its processors for 5 minutes.',
        facts: { service: 'search', instance: 'search-1' },
      },
    ],
    cause: 'search-1 is overloaded: its CPU is at 98 % since 11:41',
    nextStep: 'Find the process that uses the CPU of search-1',
    right: [/cpu|processor|overload/i],
    shownBy: [/CPU of search-1 at 98 %/],
  },
  {
    id: 'overload-connections',
    startedAt: '11:47',
    monitors: [failing('Orders', '11:47', 'status', answered('500 Internal Server Error'))],
    found: {
      search_logs: [
        '2026-11-26T11:46:51Z fatal service=orders msg="sorry, too many clients already: 200 of 200 connections are in use"',
      ],
      find_deployments: ['2026-11-25T07:00:00Z orders 2.2.2 by Mira'],
    },
    cause: 'All 200 of 200 database connections of orders are in use since 11:46',
    nextStep: 'End idle connections, or raise the limit',
    right: [/connections?/i, /\b200\b|limit|too many|exhausted|in use/i],
    shownBy: [/too many clients already: 200 of 200 connections/],
    wrong: [/2\.2\.2/],
  },
  {
    id: 'overload-campaign',
    startedAt: '11:43',
    monitors: [
      {
        ...{ name: 'Landing page', levels: slower },
        periods: [degraded('11:43', 'slow', 'it answered after 6,188 ms, more than 1,000 ms')],
      },
    ],
    notes: [
      { by: 'Eve', text: 'The newsletter to 400,000 customers went out at 11:30', at: '11:50' },
    ],
    cause: 'Load of the newsletter to 400,000 customers at 11:30',
    nextStep: 'Put a cache in front of the page',
    right: [/newsletter|load|campaign|traffic/i],
    shownBy: [/newsletter to 400,000 customers/],
    wrong: [/certificate/i],
  },
  {
    id: 'overload-same-host',
    startedAt: '11:48',
    monitors: [
      failing('Reports', '11:48', 'timeout', 'no answer from 192.0.2.71 within 10 s', {
        target: 'https://apps.example/reports',
        levels: slower,
      }),
      {
        ...{ name: 'Invoice batch', target: 'https://apps.example/batch' },
        periods: [degraded('11:29', 'slow', 'it answered after 9,400 ms, more than 1,000 ms')],
      },
    ],
    cause: 'Invoice batch on the same host is slow since 11:29 and takes its capacity',
    nextStep: 'Stop the invoice batch',
    right: [/invoice batch|same host|load/i],
    shownBy: [/Invoice batch \(same host, .*is DEGRADED/, /Response times of .*[1-9]\d{3} ms/],
  },
];
