import { answered, type CaseOfKind, failing } from '../case.ts';

const BAD_GATEWAY = answered('502 Bad Gateway');

export const DEPENDENCIES: readonly CaseOfKind[] = [
  {
    id: 'dependency-database',
    startedAt: '11:49',
    monitors: [
      failing('Shop', '11:49', 'status', answered('500 Internal Server Error'), {
        dependsOn: ['Shop database'],
      }),
      failing(
        'Shop database',
        '11:48',
        'connection',
        'connection refused by 192.0.2.60:5432 after 3 ms',
        { type: 'TCP', target: 'db.shop.example:5432' },
      ),
      { name: 'Shop database 2', type: 'TCP', target: 'db2.shop.example:5432' },
    ],
    cause: 'Shop database refuses connections since 11:48, and Shop depends on it',
    nextStep: 'Start the database on db.shop.example',
    right: [/shop database|db\.shop/i],
    shownBy: [/Shop database \(it depends on this, .*is DOWN/],
    wrong: [/database 2/i],
  },
  {
    id: 'dependency-provider',
    startedAt: '11:43',
    monitors: [failing('Checkout', '11:43', 'status', BAD_GATEWAY)],
    found: {
      search_logs: [
        '2026-11-26T11:42:31Z error service=checkout msg="upstream api.payprovider.example answered 503"',
        '2026-11-26T11:43:02Z warn service=checkout msg="circuit to payprovider is open"',
      ],
      find_deployments: ['2026-11-25T10:00:00Z checkout 8.8.0 by Ada'],
    },
    cause: 'The payment provider api.payprovider.example answers 503 since 11:42',
    nextStep: 'Check the status page of the payment provider',
    right: [/payprovider|provider|upstream/i],
    shownBy: [/upstream api\.payprovider\.example answered 503/],
    wrong: [/8\.8\.0/],
  },
  {
    id: 'dependency-login',
    startedAt: '11:40',
    monitors: [
      failing('Customer portal', '11:40', 'status', BAD_GATEWAY, { tags: ['portal'] }),
      failing('Login', '11:38', 'timeout', 'no answer from 192.0.2.14 within 10 s', {
        tags: ['portal'],
      }),
      { name: 'Order history', tags: ['portal'] },
    ],
    cause: 'Login, which has the same tag, does not answer since 11:38',
    nextStep: 'Look at Login first',
    right: [/login/i],
    shownBy: [/Login \(tagged portal, .*is DOWN/],
  },
  {
    id: 'dependency-announced',
    startedAt: '11:37',
    monitors: [failing('Media library', '11:37', 'status', answered('521 Web Server Is Down'))],
    alerts: [
      {
        name: 'Elevated error rates in Frankfurt',
        from: '11:34',
        intake: 'CDN status',
        reason: 'The CDN investigates errors of all customers in Frankfurt.',
      },
    ],
    cause: 'The CDN reports elevated error rates in Frankfurt since 11:34',
    nextStep: 'Send traffic past the CDN, or wait for it',
    right: [/cdn|frankfurt/i],
    shownBy: [/Elevated error rates in Frankfurt/],
  },
  {
    id: 'dependency-queue',
    startedAt: '11:35',
    monitors: [
      failing(
        'Order export',
        '11:35',
        'late',
        'no ping within 1 hour; the last one came at 10:30 UTC',
        { type: 'HEARTBEAT', config: { period_seconds: 3600 } },
      ),
    ],
    found: {
      search_logs: [
        '2026-11-26T11:29:14Z error service=order-export msg="rabbitmq.internal:5672 closed the connection: out of disk space"',
      ],
      search_issues: ['#77 Order export is slow on Mondays (open)'],
    },
    cause: 'RabbitMQ closed the connection at 11:29, as it is out of disk space',
    nextStep: 'Free disk space of RabbitMQ',
    right: [/rabbitmq|queue|broker/i],
    shownBy: [/rabbitmq\.internal:5672 closed the connection: out of disk space/],
    wrong: [/slow on mondays/i],
  },
];
