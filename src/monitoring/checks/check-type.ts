import type { z } from 'zod';
import type { HeartbeatMonitor, probeSettings } from '../../contracts/monitoring.ts';
import type { SsrfGuard } from '../../http/ssrf-guard.ts';
import type { CheckContext } from './check-context.ts';
import type { Degradation } from './check-result.ts';
import type { Connect } from './connect.ts';
import type { DnsClient } from './dns-query.ts';
import type { NameLookup } from './name-lookup.ts';

export interface CheckedMonitor {
  check_type: string;
  name: string;
  target: string;
  config: z.output<z.ZodObject<typeof probeSettings>>;
  depends_on?: string[];
  tags?: string[];
  runbook?: string;
}

export type MonitorDefinition = CheckedMonitor | HeartbeatMonitor;

/** A heartbeat waits for the pings of a job; the service checks all other monitors. */
export const isHeartbeat = (definition: MonitorDefinition): definition is HeartbeatMonitor =>
  definition.check_type === 'HEARTBEAT';

export interface AdmissionTools {
  guard: SsrfGuard;
  lookup: NameLookup;
}

export interface ProbeTools {
  guard: SsrfGuard;
  connect: Connect;
  dnsClient: DnsClient;
  /** Tells owners of targets who sends the requests; headers of a monitor may replace it. */
  userAgent: string;
}

/** A type of check, which probes its target or waits for pings. */
export interface CheckTypeModule<Monitor extends MonitorDefinition = MonitorDefinition> {
  /** A monitor of this type in requests and in the store; see `monitorOfType` of the contract. */
  schema: z.ZodObject<{
    check_type: z.ZodLiteral<string>;
    name: z.ZodType<string>;
    target: z.ZodType<string>;
    config: z.ZodType;
  }>;
  /** Checks rules beyond the schema; throws a 400 that names the setting and the remedy. */
  admit(monitor: Monitor, tools: AdmissionTools): void | Promise<void>;
}

/**
 * A type of check that probes its target. If its settings have `headers`, secret-looking values in them and in parameters of the
 * target are encrypted and never shown; if they have `send`, all of it.
 */
export interface ProbedType<Monitor extends CheckedMonitor = CheckedMonitor>
  extends CheckTypeModule<Monitor> {
  /** Host whose checks are limited at the same time, such as the host of a URL. Never throws for an admitted monitor. */
  limitedHost(monitor: Monitor): string;
  /** Host that a probe connects to, a name or a literal; its reachability is evidence about our own network. */
  contactedHost(monitor: Monitor): string;
  /**
   * Probes the target once. Throws a `CheckFailure` with the reason, or the reason of the context's signal. `createCheck` keeps the
   * deadline and the response time.
   */
  probe(monitor: Monitor, context: CheckContext, tools: ProbeTools): Promise<void>;
  /** A problem of a check that passed, other than slowness. */
  degradation?(
    monitor: Monitor,
    context: CheckContext,
  ): { outcome: Degradation; reason: string } | undefined;
}
