/** The systems whose alerts are taken in, as they stand in the path of a hook. */
export const INTAKE_KINDS = [
  'alertmanager',
  'grafana',
  'pagerduty',
  'uptime-kuma',
  'generic',
] as const;
export type IntakeKind = (typeof INTAKE_KINDS)[number];

/** What a delivery says of one alert, read and bounded, with nothing in it that could be markup or a mention. */
export interface ReportedAlert {
  /** The sender's own name for it, the same from its begin to its end; different intakes may use the same. */
  key: string;
  /** `acknowledged` says that somebody looks after it over there, and nothing else. */
  state: 'firing' | 'resolved' | 'acknowledged';
  /** One line. */
  name: string;
  /** What is wrong, one line. */
  summary?: string;
  /** `warning` is milder: nobody is called for it. */
  severity: 'critical' | 'warning';
  /** When it began and ended, as the sender says, Unix milliseconds; a time that cannot be is left out. */
  startedAtMs?: number;
  endedAtMs?: number;
  /** Labels, annotations and whatever else is known of it, for people. */
  facts: ReadonlyArray<{ label: string; value: string }>;
  /** Only http and https; they are shown and never fetched. */
  links: ReadonlyArray<{ label: string; url: string }>;
  /** All labels, where a silence may be asked for by them; `HIDDEN` in the place of secrets. */
  labels?: Readonly<Record<string, string>>;
}

/** What a delivery says in all. */
export interface ReportedAlerts {
  alerts: ReadonlyArray<ReportedAlert>;
  /** Alerts that the sender left out of it, as it says itself. */
  truncated: number;
  /** A sentence for the sender, where it is right that a delivery says of no alert, such as a test. */
  note?: string;
}
