import type { IntakeKind } from './reported-alert.ts';

/** What is to be done in the system that sends, and what to paste there. */
export interface SetupStep {
  text: string;
  code: string;
}

/** How a system is told to send to an intake, with its token in it: for the eyes of whoever made it only. Pure. */
export function setupSteps(
  kind: IntakeKind,
  { baseUrl, token }: { baseUrl: string; token: string },
): SetupStep[] {
  const url = `${baseUrl}/hooks/${kind}/${token}`;
  return STEPS[kind]({ baseUrl, token, url });
}

const STEPS: Record<
  IntakeKind,
  (at: { baseUrl: string; token: string; url: string }) => SetupStep[]
> = {
  alertmanager: ({ url }) => [
    {
      text: 'In alertmanager.yml, and name the receiver in a route:',
      code: [
        'receivers:',
        '  - name: askwatch',
        '    webhook_configs:',
        `      - url: ${url}`,
        '        send_resolved: true',
      ].join('\n'),
    },
  ],
  grafana: ({ url }) => [
    { text: 'Alerting, Contact points, Add: choose Webhook, and as its URL:', code: url },
  ],
  pagerduty: ({ baseUrl, token }) => [
    {
      text: 'Where the system asks for the address of PagerDuty, or of its Events API v2:',
      code: `${baseUrl}/v2/enqueue`,
    },
    { text: 'Where it asks for an integration key, or a routing key:', code: token },
  ],
  'uptime-kuma': ({ url }) => [
    {
      text: 'Settings, Notifications, Setup: choose Webhook and the preset body application/json, and as its Post URL:',
      code: url,
    },
  ],
  generic: ({ url }) => [
    {
      text: 'Have it send a POST; the same key with the state resolved ends the alert:',
      code: `curl -X POST -H 'Content-Type: application/json' -d '{"key":"disk-db-1","state":"firing","name":"Disk of db-1 is full","severity":"critical"}' ${url}`,
    },
  ],
};
