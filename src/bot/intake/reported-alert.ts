/** One alert of a delivery, bounded, without markup or mentions. */
export interface ReportedAlert {
  /** The sender's identifier, stable from start to end. Different intakes may use the same. */
  key: string;
  /** `acknowledged` only says that somebody takes care of it in the other system. */
  state: 'firing' | 'resolved' | 'acknowledged';
  name: string;
  /** One line. */
  summary?: string;
  /** A `warning` mentions nobody. */
  severity: 'critical' | 'warning';
  /** By the sender's clock, Unix milliseconds. Implausible times are left out. */
  startedAtMs?: number;
  endedAtMs?: number;
  /** Labels, annotations and other details, for people. */
  facts: ReadonlyArray<{ label: string; value: string }>;
  /** Only http and https. They are shown, never fetched. */
  links: ReadonlyArray<{ label: string; url: string }>;
  /** All labels, if a silence can be created from them. Secrets are replaced by `HIDDEN`. */
  labels?: Readonly<Record<string, string>>;
}

export interface ReportedAlerts {
  alerts: ReadonlyArray<ReportedAlert>;
  /** Alerts that the sender left out, by its own count. */
  truncated: number;
  /** Explains to the sender why a valid delivery has no alerts, such as a test. */
  note?: string;
}
