/** Systems whose alerts Askwatch receives, as in the path of a hook. */
export const INTAKE_KINDS = [
  'alertmanager',
  'grafana',
  'pagerduty',
  'uptime-kuma',
  'generic',
] as const;
export type IntakeKind = (typeof INTAKE_KINDS)[number];
