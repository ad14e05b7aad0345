import type { Logger } from 'pino';
import type { Metrics } from '../../http/metrics.ts';
import { failureForLog, type UpstreamError } from '../shared/upstream-error.ts';
import type { Upstream } from './upstream.ts';

/** Keeps requests from upstreams that fail. */
export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

/** How a model of a provider has been doing. */
interface Circuit {
  readonly provider: string;
  readonly model: string;
  /** Half open while one request tries out whether it can close. */
  state: 'closed' | 'open' | 'halfOpen';
  /** Until when it stays open at least; of no meaning while it is closed. */
  openUntilMs: number;
  /** How long it was opened for the last time; 0 once that has been forgiven. */
  openMs: number;
  /** Requests in a row that were not answered. */
  failures: number;
  /** Answers that broke off since one came whole. */
  breaks: number;
  /** Changes whenever it opens or closes: what was asked before says nothing about now. */
  era: number;
}

const FAILURES = 3;
const FIRST_OPEN_MS = 15_000;
const LONGEST_OPEN_MS = 300_000;
/** Until somebody may have paid, or changed a key or a name. */
const ACCOUNT_OPEN_MS = 60_000;
/** Shorter times are a provider's everyday way to slow us down. */
const WORTH_A_WARNING_MS = 10_000;

/**
 * Keeps requests from upstreams that fail. All upstreams with the same provider and model share one circuit. It only steers:
 * where every circuit is open, one upstream is asked all the same.
 * Starts with all circuits closed. Three failures in a row, requests that were not answered or answers that broke off, open
 * one for 15 seconds; one that cannot close because the failures go on stays open twice as long, up to 5 minutes. A refusal
 * that says when to come back opens it until then, and one of the gateway's own account for a minute, both at once.
 */
export function createCircuitBreaker(options: {
  /** A clock that never goes back, milliseconds. */
  nowMs?: () => number;
  random?: () => number;
  metrics?: Metrics;
  log: Logger;
}) {
  const { nowMs = () => performance.now(), random = Math.random, log } = options;
  const circuits = new Map<string, Circuit>();
  const attempts = options.metrics?.counter(
    'askwatch_gateway_attempts_total',
    'Requests to upstreams, by provider and outcome.',
    ['provider', 'outcome'],
  );
  options.metrics?.gauges(
    'askwatch_gateway_upstream_resting',
    '1 while an upstream is avoided because it failed, else 0.',
    ['provider', 'model'],
    () =>
      [...circuits.values()].map(({ provider, model, state }) => ({
        labels: { provider, model },
        value: state === 'closed' ? 0 : 1,
      })),
  );

  function circuitOf({ provider, model, label }: Upstream): Circuit {
    let circuit = circuits.get(label);
    if (!circuit) {
      const counts = { openUntilMs: 0, openMs: 0, failures: 0, breaks: 0, era: 0 };
      circuit = { provider, model, state: 'closed', ...counts };
      circuits.set(label, circuit);
    }
    return circuit;
  }

  function letsThrough({ state, openUntilMs }: Circuit): boolean {
    return state === 'closed' || (state === 'open' && nowMs() >= openUntilMs);
  }

  function note(circuit: Circuit, streak: 'failures' | 'breaks', error: UpstreamError): void {
    circuit[streak] += 1;
    const failedProbe = circuit.state !== 'closed';
    if (failedProbe || isAtOnce(error) || circuit[streak] >= FAILURES) open(circuit, error);
  }

  function open(circuit: Circuit, error: UpstreamError): void {
    const { provider, model, state } = circuit;
    circuit.openMs = openMsAfter(error, circuit.openMs);
    // Told times are kept exactly; the others differ, so that several gateways do not come back together.
    const lengthMs = error.retryAfterMs ? circuit.openMs : circuit.openMs * (1 - 0.2 * random());
    circuit.openUntilMs = nowMs() + lengthMs;
    change(circuit, 'open');
    log[lengthMs < WORTH_A_WARNING_MS ? 'debug' : 'warn'](
      { provider, model, openMs: Math.round(lengthMs), ...failureForLog(error) },
      state === 'closed'
        ? 'upstream failing; circuit opened'
        : 'upstream still failing; circuit opened again',
    );
  }

  function close(circuit: Circuit): void {
    const { provider, model, openMs } = circuit;
    change(circuit, 'closed');
    log[openMs < WORTH_A_WARNING_MS ? 'debug' : 'info'](
      { provider, model },
      'upstream answers again; circuit closed',
    );
  }

  /** A failure that is no news, but may tell a later time to come back. */
  function prolong(circuit: Circuit, { retryAfterMs = 0 }: UpstreamError): void {
    if (circuit.state === 'closed') return;
    const toldMs = nowMs() + Math.min(retryAfterMs, LONGEST_OPEN_MS);
    circuit.openUntilMs = Math.max(circuit.openUntilMs, toldMs);
  }

  return {
    /**
     * The one of these to ask next: the first whose circuit is closed; else, if `evenOpen`, the one whose circuit may close
     * first. When an open circuit's time is over, one request tries it out; to the others it stays open until that is answered.
     */
    choose(upstreams: readonly Upstream[], evenOpen: boolean): Upstream | undefined {
      const ready = upstreams.find((upstream) => letsThrough(circuitOf(upstream)));
      if (ready) return ready;
      const now = nowMs();
      const [soonest] = upstreams
        .map((upstream) => ({ upstream, untilMs: circuitOf(upstream).openUntilMs }))
        .filter(({ untilMs }) => evenOpen || untilMs <= now)
        .sort((a, b) => a.untilMs - b.untilMs);
      return soonest?.upstream;
    },
    /** Notes that it is asked. One of the functions it gives is called, once. */
    attempt(upstream: Upstream) {
      const circuit = circuitOf(upstream);
      const { provider, era } = circuit;
      const wasClosed = circuit.state === 'closed';
      const isProbe = !wasClosed && letsThrough(circuit);
      if (isProbe) circuit.state = 'halfOpen';
      const over = (outcome: string) => {
        attempts?.(provider, outcome).add();
        if (isProbe && circuit.era === era) circuit.state = 'open';
      };
      return {
        /** Its answer began. */
        answered(): void {
          over('answered');
          if (circuit.era !== era) return;
          circuit.failures = 0;
          if (wasClosed) circuit.openMs = 0;
          else close(circuit);
        },
        failed(error: UpstreamError): void {
          over(error.kind);
          if (error.kind === 'request') return;
          if (circuit.era === era && (isProbe || wasClosed)) note(circuit, 'failures', error);
          else prolong(circuit, error);
        },
        /** The client left, which says nothing about the upstream. */
        cancelled: () => over('left'),
      };
    },
    /** Notes that an answer broke off after it began. */
    brokeOff(upstream: Upstream, error: UpstreamError): void {
      const circuit = circuitOf(upstream);
      attempts?.(circuit.provider, 'broke').add();
      if (error.kind === 'request') return;
      if (circuit.state === 'closed') note(circuit, 'breaks', error);
      else prolong(circuit, error);
    },
    /** Notes that an answer came whole. */
    succeeded(upstream: Upstream): void {
      circuitOf(upstream).breaks = 0;
    },
  };
}

function change(circuit: Circuit, state: 'open' | 'closed'): void {
  circuit.state = state;
  circuit.era += 1;
  circuit.breaks = 0;
}

/** The upstream itself said that asking again now is of no use. */
function isAtOnce({ kind, retryAfterMs = 0 }: UpstreamError): boolean {
  return retryAfterMs > 0 || kind === 'account';
}

function openMsAfter({ kind, retryAfterMs }: UpstreamError, lastMs: number): number {
  if (retryAfterMs) return Math.min(retryAfterMs, LONGEST_OPEN_MS);
  const shortestMs = kind === 'account' ? ACCOUNT_OPEN_MS : FIRST_OPEN_MS;
  return Math.min(Math.max(shortestMs, lastMs * 2), LONGEST_OPEN_MS);
}
