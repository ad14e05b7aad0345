import type { Logger } from 'pino';
import type { Metrics } from '../../http/metrics.ts';
import { failureForLog, type UpstreamError } from '../shared/upstream-error.ts';
import type { Upstream } from './upstream.ts';

/**
 * Which upstreams rest because they failed. All upstreams with the same provider and model share one rest. It only
 * steers: where every upstream rests, one is asked all the same.
 */
export interface Rests {
  /**
   * The one of these to ask next: the first that does not rest; else, if `evenResting`, the one whose rest ends first. A
   * rest that is over is tried out by one request; to the others it goes on until that one is answered.
   */
  choose(upstreams: readonly Upstream[], evenResting: boolean): Upstream | undefined;
  /** Notes that it is asked. */
  ask(upstream: Upstream): Asking;
  /** Notes that an answer broke off after it began. */
  failed(upstream: Upstream, error: UpstreamError): void;
  /** Notes that an answer came whole. */
  succeeded(upstream: Upstream): void;
}

/** An upstream that is being asked. One of these is called, once. */
export interface Asking {
  /** Its answer began. */
  answered(): void;
  failed(error: UpstreamError): void;
  /** The caller left, which says nothing about the upstream. */
  left(): void;
}

/** How a model of a provider has been doing. */
interface Health {
  readonly provider: string;
  readonly model: string;
  /** Requests in a row that were not answered. */
  failures: number;
  /** Answers that broke off since one came whole. */
  breaks: number;
  /** When its rest is over; absent while it does not rest. */
  untilMs: number | undefined;
  /** How long the last rest was; 0 once it has been forgiven. */
  restMs: number;
  /** A request is trying out whether the rest can end. */
  probed: boolean;
  /** Changes whenever a rest begins or ends: what was asked before says nothing about now. */
  era: number;
}

const FAILURES = 3;
const FIRST_REST_MS = 15_000;
const LONGEST_REST_MS = 300_000;
/** Until somebody may have paid, or changed a key or a name. */
const ACCOUNT_REST_MS = 60_000;
/** Shorter rests are a provider's everyday way to slow us down. */
const WORTH_A_WARNING_MS = 10_000;

/**
 * Starts with no upstream at rest. Three failures in a row, requests that were not answered or answers that broke off, are
 * a rest of 15 seconds; one that cannot end because the failures go on is twice as long, up to 5 minutes. A refusal that
 * says when to come back is a rest until then, and one of the gateway's own account is a rest of a minute, both at once.
 */
export function createRests(options: {
  /** A clock that never goes back, milliseconds. */
  nowMs?: () => number;
  random?: () => number;
  metrics?: Metrics;
  log: Logger;
}): Rests {
  const { nowMs = () => performance.now(), random = Math.random, log } = options;
  const healths = new Map<string, Health>();
  const asked = options.metrics?.counter(
    'askwatch_gateway_attempts_total',
    'Requests to upstreams, by provider and what became of them.',
    ['provider', 'outcome'],
  );
  options.metrics?.gauges(
    'askwatch_gateway_upstream_resting',
    'Whether an upstream rests because it failed, 1 or 0.',
    ['provider', 'model'],
    () =>
      [...healths.values()].map(({ provider, model, untilMs }) => ({
        labels: { provider, model },
        value: untilMs === undefined ? 0 : 1,
      })),
  );

  function healthOf({ provider, model }: Upstream): Health {
    const key = `${provider} ${model}`;
    const known = healths.get(key);
    if (known) return known;
    const fresh = { failures: 0, breaks: 0, untilMs: undefined, restMs: 0, probed: false, era: 0 };
    const health = { provider, model, ...fresh };
    healths.set(key, health);
    return health;
  }

  function canBeAsked({ untilMs, probed }: Health): boolean {
    return untilMs === undefined || (!probed && nowMs() >= untilMs);
  }

  function note(health: Health, streak: 'failures' | 'breaks', error: UpstreamError): void {
    health[streak] += 1;
    const failedProbe = health.untilMs !== undefined;
    if (failedProbe || isAtOnce(error) || health[streak] >= FAILURES) rest(health, error);
  }

  function rest(health: Health, error: UpstreamError): void {
    const { provider, model } = health;
    const again = health.untilMs !== undefined;
    health.restMs = restAfter(error, health.restMs);
    // Told times are kept exactly; the others differ, so that several gateways do not come back together.
    const lengthMs = error.retryAfterMs ? health.restMs : health.restMs * (1 - 0.2 * random());
    health.untilMs = nowMs() + lengthMs;
    begin(health);
    log[lengthMs < WORTH_A_WARNING_MS ? 'debug' : 'warn'](
      { provider, model, restMs: Math.round(lengthMs), ...failureForLog(error) },
      again ? 'an upstream still fails and rests again' : 'an upstream fails and rests',
    );
  }

  function end(health: Health): void {
    const { provider, model, restMs } = health;
    health.untilMs = undefined;
    begin(health);
    log[restMs < WORTH_A_WARNING_MS ? 'debug' : 'info'](
      { provider, model },
      'an upstream answers again',
    );
  }

  /** A failure that is no news, but may tell a later time to come back. */
  function prolong(health: Health, { retryAfterMs = 0 }: UpstreamError): void {
    if (health.untilMs === undefined) return;
    const toldMs = nowMs() + Math.min(retryAfterMs, LONGEST_REST_MS);
    health.untilMs = Math.max(health.untilMs, toldMs);
  }

  return {
    choose(upstreams, evenResting) {
      const ready = upstreams.find((upstream) => canBeAsked(healthOf(upstream)));
      if (ready) return ready;
      const now = nowMs();
      const [soonest] = upstreams
        .map((upstream) => ({ upstream, untilMs: healthOf(upstream).untilMs ?? 0 }))
        .filter(({ untilMs }) => evenResting || untilMs <= now)
        .sort((a, b) => a.untilMs - b.untilMs);
      return soonest?.upstream;
    },
    ask(upstream) {
      const health = healthOf(upstream);
      const { provider } = health;
      const { era } = health;
      const resting = health.untilMs !== undefined;
      const probe = resting && canBeAsked(health);
      if (probe) health.probed = true;
      const over = (outcome: string) => {
        asked?.inc({ provider, outcome });
        if (probe && health.era === era) health.probed = false;
      };
      return {
        answered() {
          over('answered');
          if (health.era !== era) return;
          health.failures = 0;
          if (resting) end(health);
          else health.restMs = 0;
        },
        failed(error) {
          over(error.kind);
          if (error.kind === 'request') return;
          if (health.era === era && (probe || !resting)) note(health, 'failures', error);
          else prolong(health, error);
        },
        left: () => over('left'),
      };
    },
    failed(upstream, error) {
      const health = healthOf(upstream);
      asked?.inc({ provider: health.provider, outcome: 'broke' });
      if (error.kind === 'request') return;
      if (health.untilMs === undefined) note(health, 'breaks', error);
      else prolong(health, error);
    },
    succeeded(upstream) {
      healthOf(upstream).breaks = 0;
    },
  };
}

/** Starts a new era: of rest, or of none. */
function begin(health: Health): void {
  health.era += 1;
  health.breaks = 0;
  health.probed = false;
}

/** The upstream itself said that asking again now is of no use. */
function isAtOnce({ kind, retryAfterMs = 0 }: UpstreamError): boolean {
  return retryAfterMs > 0 || kind === 'account';
}

function restAfter({ kind, retryAfterMs }: UpstreamError, lastMs: number): number {
  if (retryAfterMs) return Math.min(retryAfterMs, LONGEST_REST_MS);
  const shortestMs = kind === 'account' ? ACCOUNT_REST_MS : FIRST_REST_MS;
  return Math.min(Math.max(shortestMs, lastMs * 2), LONGEST_REST_MS);
}
