import { answered, type CaseOfKind, down, failing } from '../case.ts';

const UNAVAILABLE = answered('503 Service Unavailable');

export const DEPLOYS: readonly CaseOfKind[] = [
  {
    id: 'deploy-release',
    startedAt: '11:48',
    monitors: [
      failing('Shop checkout', '11:48', 'status', answered('500 Internal Server Error'), {
        tags: ['shop'],
      }),
      { name: 'Shop', tags: ['shop'] },
    ],
    found: {
      find_deployments: ['2026-11-26T11:46:10Z shop-checkout 4.2.0 by Mira'],
    },
    cause: 'Deployment 4.2.0 of shop-checkout at 11:46 broke it',
    nextStep: 'Roll back to the version before 4.2.0',
    right: [/4\.2\.0|11:46/, /deploy|release|version|roll/i],
    shownBy: [/T11:46:10Z shop-checkout 4\.2\.0/],
  },
  {
    id: 'deploy-configuration',
    startedAt: '11:33',
    monitors: [failing('Search API', '11:33', 'status', answered('400 Bad Request'))],
    found: {
      find_deployments: [
        '2026-11-26T11:31:40Z search-config r118 by Ben: require the header X-Tenant',
        '2026-11-26T08:02:00Z search-ui 7.0.1 by Ada',
      ],
    },
    cause:
      'The configuration change r118 of search-config requires the header X-Tenant since 11:31',
    nextStep: 'Revert r118, or send the header with the check',
    right: [/r118|search-config|x-tenant/i],
    shownBy: [/require the header X-Tenant/],
    wrong: [/7\.0\.1/],
  },
  {
    id: 'deploy-noted',
    startedAt: '11:42',
    monitors: [failing('Payments', '11:42', 'status', UNAVAILABLE)],
    notes: [
      { by: 'Ada', text: 'On it', at: '11:44' },
      { by: 'Ben', text: 'I rolled out payments 2.8.1 to all pods at 11:40', at: '11:47' },
    ],
    cause: 'The rollout of payments 2.8.1 at 11:40',
    nextStep: 'Roll payments back',
    right: [/2\.8\.1|11:40/, /roll|deploy|release|version/i],
    shownBy: [/rolled out payments 2\.8\.1/],
  },
  {
    id: 'deploy-announced',
    startedAt: '11:45',
    monitors: [
      failing(
        'Inventory',
        '11:45',
        'connection',
        'connection refused by 192.0.2.41:443 after 3 ms',
      ),
    ],
    alerts: [
      {
        name: 'Sync of inventory to 7c1e9f2 finished',
        from: '11:44',
        intake: 'Argo CD',
        reason: 'inventory is now at 7c1e9f2, Degraded: 0 of 3 pods are ready.',
        facts: { app: 'inventory', revision: '7c1e9f2' },
      },
    ],
    cause: 'Argo CD rolled out inventory 7c1e9f2 at 11:44, and 0 of 3 pods are ready',
    nextStep: 'Roll back to the revision before 7c1e9f2',
    right: [/7c1e9f2|argo/i],
    shownBy: [/Sync of inventory to 7c1e9f2/],
  },
  {
    id: 'deploy-migration',
    startedAt: '11:52',
    monitors: [
      {
        name: 'Billing',
        periods: [down('11:52', 'status', answered('500 Internal Server Error'))],
        runbook: 'Ask #billing first. Migrations run before the pods start.',
      },
      { name: 'Billing database', type: 'TCP', target: 'db.billing.example:5432' },
    ],
    found: {
      find_deployments: ['2026-11-26T11:51:02Z billing 6.0.0 by Kim'],
      search_logs: [
        '2026-11-26T11:51:58Z error service=billing msg="column vat_id does not exist"',
      ],
    },
    cause: 'billing 6.0.0, deployed at 11:51, needs the column vat_id, which does not exist',
    nextStep: 'Run the migration, or roll back 6.0.0',
    right: [/vat_id|6\.0\.0|migration/i],
    shownBy: [/column vat_id does not exist/, /billing 6\.0\.0/],
    wrong: [/database (is|was) down/i],
  },
];
