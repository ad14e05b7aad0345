import type { z } from 'zod';
import type { HeartbeatMonitor, probeSettings } from '../../contracts/monitoring.ts';
import type { CheckContext } from './check-context.ts';
import type { Degradation } from './check-result.ts';
import type { Connect } from './connect.ts';
import type { DnsClient } from './dns-query.ts';
import type { NameLookup } from './name-lookup.ts';
import type { SsrfGuard } from './ssrf-guard.ts';

/** A monitor that is checked by us, as its settings say. */
export interface CheckedMonitor {
  check_type: string;
  name: string;
  target: string;
  config: z.output<z.ZodObject<typeof probeSettings>>;
  depends_on?: string[] | undefined;
}

/** What a monitor is: its type of check, its target and its settings. */
export type MonitorDefinition = CheckedMonitor | HeartbeatMonitor;

/** Whether a monitor waits for the pings of a job; all others are checked by us. */
export const isHeartbeat = (definition: MonitorDefinition): definition is HeartbeatMonitor =>
  definition.check_type === 'HEARTBEAT';

/** What an admission may ask: where a target leads, and whether checks may go there. */
export interface AdmissionTools {
  guard: SsrfGuard;
  lookup: NameLookup;
}

/** What probes work with. */
export interface ProbeTools {
  guard: SsrfGuard;
  connect: Connect;
  dnsClient: DnsClient;
  /** Fixed, so that owners of targets can tell who asks; settings may give another. */
  userAgent: string;
}

/** A type of check, whether it asks its target or waits for pings. */
export interface CheckType<Monitor extends MonitorDefinition = MonitorDefinition> {
  /** A monitor of this type as it is asked for and stored; see `monitorOfType` of the contract. */
  schema: z.ZodObject<{
    check_type: z.ZodLiteral<string>;
    name: z.ZodType<string>;
    target: z.ZodType<string>;
    config: z.ZodType;
  }>;
  /** Refuses what the schema cannot see; throws the 400 that names the setting and says what to do. */
  admit(monitor: Monitor, tools: AdmissionTools): void | Promise<void>;
}

/**
 * A type of check that asks its target. Where its settings have `headers`, values of them and of parameters of the target
 * that look like secrets are encrypted and never shown, and so is all of `send` where they have that.
 */
export interface ProbedType<Monitor extends CheckedMonitor = CheckedMonitor>
  extends CheckType<Monitor> {
  /** Whose checks are not run all at once, such as the host of a URL. Never throws for a monitor that was admitted. */
  limitedHost(monitor: Monitor): string;
  /** What a probe connects to, a name or a literal: evidence for and against our own network. */
  contactedHost(monitor: Monitor): string;
  /**
   * Asks the target once. Resolves when all is well; throws a `CheckFailure` that says why not, or the reason of the
   * context's signal. The deadline and the response time are kept by `createCheck`.
   */
  probe(monitor: Monitor, context: CheckContext, tools: ProbeTools): Promise<void>;
  /** What is not as it should be about a check that passed, besides that it was slow. */
  degradation?(
    monitor: Monitor,
    context: CheckContext,
  ): { outcome: Degradation; reason: string } | undefined;
}
