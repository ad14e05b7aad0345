import { type CaseOfKind, down, failing } from '../case.ts';

const GONE = 'the name does not exist (NXDOMAIN)';
const gone = (from: string) => down(from, 'name', GONE);

export const NAMES: readonly CaseOfKind[] = [
  {
    id: 'dns-no-such-name',
    startedAt: '11:44',
    isGroup: true,
    monitors: [
      { name: 'Parts shop', target: 'https://shop.parts.example', periods: [gone('11:44')] },
      { name: 'Parts API', target: 'https://api.parts.example', periods: [gone('11:44:20')] },
      { name: 'Parts blog', target: 'https://blog.parts.example', periods: [gone('11:45')] },
    ],
    cause: 'Names below parts.example do not exist in DNS since 11:44 (NXDOMAIN)',
    nextStep: 'Check the zone parts.example and its registration',
    right: [/\bdns\b|domain|parts\.example/i],
    shownBy: [/Parts \w+ became DOWN: the name does not exist \(NXDOMAIN\)/],
    wrong: [/api (crash|deploy)/i],
  },
  {
    id: 'dns-server-fails',
    startedAt: '11:39',
    monitors: [
      {
        ...{ name: 'CRM DNS', type: 'DNS', target: 'crm.example' },
        config: { resolver: '198.51.100.53' },
        periods: [down('11:39', 'dns', '198.51.100.53 failed (SERVFAIL)')],
      },
      {
        ...{ name: 'Mail MX', type: 'DNS', target: 'mail.example' },
        config: { record_type: 'MX', resolver: '198.51.100.53' },
        periods: [down('11:39:30', 'dns', '198.51.100.53 failed (SERVFAIL)')],
      },
      { name: 'CRM', tags: ['crm'] },
    ],
    cause: 'The DNS server 198.51.100.53 fails (SERVFAIL) since 11:39',
    nextStep: 'Restart the DNS server 198.51.100.53',
    right: [/198\.51\.100\.53|servfail|dns server/i],
    shownBy: [/198\.51\.100\.53 failed \(SERVFAIL\)/],
  },
  {
    id: 'dns-record-changed',
    startedAt: '11:47',
    monitors: [
      {
        ...{ name: 'Portal DNS', type: 'DNS', target: 'portal.example' },
        config: { expected: ['192.0.2.10'] },
        periods: [down('11:47', 'dns', '192.0.2.10 is missing in 1 A record')],
      },
      failing('Portal', '11:48', 'timeout', 'no answer from 192.0.2.99 within 10 s', {
        target: 'https://portal.example',
        tags: ['portal'],
      }),
    ],
    found: {
      find_deployments: ['2026-11-26T11:45:30Z dns-zone r52 by Kim: portal.example A 192.0.2.99'],
    },
    cause: 'The zone change r52 at 11:45 points portal.example to 192.0.2.99',
    nextStep: 'Revert r52',
    right: [/r52|zone change|record|\bdns\b/i],
    shownBy: [/portal\.example A 192\.0\.2\.99/, /192\.0\.2\.10 is missing/],
    wrong: [/overload/i],
  },
  {
    id: 'dns-registration-ended',
    startedAt: '11:36',
    monitors: [{ name: 'Campaign site', target: 'https://sale.example', periods: [gone('11:36')] }],
    found: {
      search_issues: ['#640 Renew the domain sale.example before 26 November (open)'],
    },
    cause: 'The domain sale.example was not renewed before 26 November (issue 640 is open)',
    nextStep: 'Renew sale.example at the registrar',
    right: [/\bdomain\b|registr/i],
    shownBy: [/Renew the domain sale\.example/],
  },
  {
    id: 'dns-same-zone',
    startedAt: '11:50',
    monitors: [
      { name: 'Booking', target: 'https://booking.travel.example', periods: [gone('11:50')] },
      { name: 'Booking API', target: 'https://api.travel.example', periods: [gone('11:50:30')] },
      { name: 'Travel guide', target: 'https://guide.other.example' },
    ],
    earlier: {
      from: '11-03 17:40',
      note: 'It was the load balancer, which sent broken HTTP',
    },
    cause: 'Names of travel.example do not exist since 11:50 (NXDOMAIN), of Booking API, too',
    nextStep: 'Check the zone travel.example',
    right: [/\bdns\b|domain|travel\.example/i],
    shownBy: [/Booking API \(same cause, .*NXDOMAIN/, /became DOWN: .*NXDOMAIN/],
    wrong: [/load balancer/i],
  },
];
