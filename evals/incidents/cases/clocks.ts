import { answered, type CaseOfKind, down, failing } from '../case.ts';

export const CLOCKS: readonly CaseOfKind[] = [
  {
    id: 'clock-certificate-too-new',
    startedAt: '11:42',
    monitors: [
      failing('Vault', '11:42', 'tls', 'the certificate is not valid before 2026-11-27', {
        certificateEnds: '12-26 11:40',
      }),
    ],
    found: {
      search_logs: [
        '2026-11-26T11:41:37Z warn service=vault msg="issued a certificate; chronyd: system clock is 86400 s ahead"',
      ],
    },
    cause:
      'The clock of the issuing host is a day ahead, so its certificate is not valid before 27 November',
    nextStep: 'Set the clock of the host, and issue the certificate again',
    right: [/clock|ahead/i],
    shownBy: [/system clock is 86400 s ahead/, /not valid before 2026-11-27/],
    wrong: [/(has|is) expired/i],
  },
  {
    id: 'clock-token-from-the-future',
    startedAt: '11:44',
    monitors: [failing('Partner API', '11:44', 'status', answered('401 Unauthorized'))],
    found: {
      search_logs: [
        '2026-11-26T11:43:20Z error service=partner-api msg="token used before issued: iat is 94 s in the future"',
      ],
      search_issues: ['#31 Rotate the partner password (open)'],
    },
    cause: 'Clock skew: tokens are 94 s in the future, so the partner API refuses them',
    nextStep: 'Synchronise the clock of the host that issues tokens',
    right: [/clock|skew|future|iat/i],
    shownBy: [/token used before issued: iat is 94 s in the future/],
    wrong: [/password/i],
  },
  {
    id: 'clock-winter-time',
    startedAt: '11:31',
    monitors: [
      {
        ...{ name: 'Monthly invoices', type: 'HEARTBEAT' },
        config: { cron: '30 10 26 * *', grace_seconds: 3600 },
        periods: [
          down('11:31', 'late', 'the ping expected at 10:30 UTC did not arrive within 1 hour'),
        ],
      },
    ],
    found: {
      search_logs: [
        '2026-11-26T10:31:00Z info service=monthly-invoices msg="next run 06:30 America/New_York = 11:30 UTC, was 10:30 UTC before 1 November"',
      ],
      find_deployments: ['2026-11-12T15:00:00Z monthly-invoices 1.9.9 by Ben'],
    },
    cause: 'The job runs at 11:30 UTC since winter time began; the monitor expects it at 10:30 UTC',
    nextStep: 'Set the time zone America/New_York in the monitor',
    right: [/winter|daylight|\bdst\b|time zone|new_york|summer/i],
    shownBy: [/next run 06:30 America\/New_York = 11:30 UTC/],
    wrong: [/1\.9\.9/],
  },
  {
    id: 'clock-alert',
    startedAt: '11:46',
    isAboutAlert: true,
    monitors: [{ name: 'Single sign-on', tags: ['login'] }],
    alerts: [
      {
        ...{ name: 'Logins fail: SAML assertion not yet valid', from: '11:46', intake: 'Grafana' },
        reason: '100 % of logins fail.',
        facts: { service: 'single-sign-on' },
      },
      {
        ...{ name: 'NodeClockSkewDetected sso-2', from: '11:38', intake: 'Alertmanager' },
        reason: 'The clock of sso-2 differs by 212 s.',
        facts: { instance: 'sso-2' },
      },
    ],
    cause: 'The clock of sso-2 differs by 212 s since 11:38, so assertions are not yet valid',
    nextStep: 'Restart time synchronisation on sso-2',
    right: [/clock|skew|212 s/i],
    shownBy: [/NodeClockSkewDetected sso-2/, /clock of sso-2 differs by 212 s/],
  },
  {
    id: 'clock-zone-of-an-image',
    startedAt: '10:01',
    monitors: [
      {
        ...{ name: 'Nightly reports', type: 'HEARTBEAT' },
        config: { cron: '0 9 * * *', grace_seconds: 3600 },
        periods: [
          down('10:01', 'late', 'the ping expected at 09:00 UTC did not arrive within 1 hour'),
        ],
      },
    ],
    found: {
      find_deployments: [
        '2026-11-25T14:20:00Z job-image 12.4 by Kim: default time zone is Pacific/Honolulu, was UTC',
      ],
    },
    cause:
      'Image 12.4 changed the time zone of the job to Pacific/Honolulu, so it runs at another hour',
    nextStep: 'Set TZ=UTC for the job',
    right: [/time zone|timezone|honolulu/i],
    shownBy: [/default time zone is Pacific\/Honolulu/],
  },
];
