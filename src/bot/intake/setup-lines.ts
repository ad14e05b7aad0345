import type { IntakeKind } from '../../contracts/intake-kinds.ts';

/** A step of the setup in the other system, with text to paste. */
export interface SetupStep {
  text: string;
  code: string;
}

/** The setup steps contain the token, so only the person who created the intake may see them. Pure. */
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
      text: 'Add this to alertmanager.yml, and use the receiver in a route:',
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
    {
      text: 'In Grafana, open Alerting, Contact points, Add. Choose Webhook and set its URL to:',
      code: url,
    },
  ],
  pagerduty: ({ baseUrl, token }) => [
    {
      text: 'Set the system’s PagerDuty address (Events API v2) to:',
      code: `${baseUrl}/v2/enqueue`,
    },
    { text: 'Set its integration key (routing key) to:', code: token },
  ],
  'uptime-kuma': ({ url }) => [
    {
      text: 'In Uptime Kuma, open Settings, Notifications, Setup. Choose Webhook with the preset body application/json, and set the Post URL to:',
      code: url,
    },
  ],
  generic: ({ url }) => [
    {
      text: 'Send a POST request like this. To end the alert, send the same key with the state resolved:',
      code: `curl -X POST -H 'Content-Type: application/json' -d '{"key":"disk-db-1","state":"firing","name":"Disk of db-1 is full","severity":"critical"}' ${url}`,
    },
  ],
};
