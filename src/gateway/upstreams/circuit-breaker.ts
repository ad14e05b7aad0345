import type { Logger } from 'pino';
import type { Metrics } from '../../http/metrics.ts';
import { failureForLog, type UpstreamError } from '../shared/upstream-error.ts';
import type { Upstream } from './upstream.ts';

/**
 * State of one model of one provider; all upstreams with that provider and model share it.
 *
 * - `closed`, the first state: every request goes through. Three failures in a row (requests without an answer, or answers
 *   that broke off) open the circuit for 15 s. A refusal that says when to come back opens it at once until then, and a
 *   refusal of the gateway's own account at once for a minute.
 * - `open`: requests go to other upstreams, and here only if nothing else is left. After its time the next request is the
 *   probe, and the circuit is half open. A late failure can only prolong the time.
 * - `halfOpen`: one request, the probe, is in progress; for all others the circuit is still open. If the probe is answered,
 *   the circuit closes. If it fails, the circuit opens for twice as long, up to 5 min. If its client leaves, it is open
 *   again, and the next request is the probe.
 *
 * A request from before the last change of state counts for nothing, but an answer to any request that was made since
 * the circuit opened closes it.
 */
interface Circuit {
  readonly provider: string;
  readonly model: string;
  state: 'closed' | 'open' | 'halfOpen';
  /** Earliest time of the next probe; meaningless while closed. */
  openUntilMs: number;
  /** Length of the last opening; 0 once a request was answered while it was closed. */
  openMs: number;
  /** Requests in a row without an answer. */
  failures: number;
  /** Answers that broke off since the last whole one. */
  breaks: number;
  /** Number of changes between open and closed, to recognize requests from before the last one. */
  era: number;
}

const MAX_FAILURES = 3;
const FIRST_OPEN_MS = 15_000;
const LONGEST_OPEN_MS = 300_000;
/** Time in which someone may have paid, or corrected a key or a name. */
const ACCOUNT_OPEN_MS = 60_000;
/** Providers slow callers down for shorter times every day, so these aren't worth a warning. */
const WARNING_MS = 10_000;

interface CircuitBreakerOptions {
  /** A clock that never goes back, milliseconds. */
  nowMs?: () => number;
  random?: () => number;
  metrics?: Metrics;
  log: Logger;
}

/** One request to an upstream. Call one of these once. */
interface Attempt {
  /** The answer began. */
  answered(): void;
  failed(error: UpstreamError): void;
  /** The client left, which says nothing about the upstream. */
  cancelled(): void;
}

/** Keeps requests away from upstreams that fail. If all circuits are open, one upstream is asked anyway. */
export class CircuitBreaker {
  readonly #nowMs: () => number;
  readonly #random: () => number;
  readonly #log: Logger;
  readonly #attempts: ReturnType<Metrics['counter']> | undefined;
  readonly #circuits = new Map<string, Circuit>();

  constructor(options: CircuitBreakerOptions) {
    const { nowMs = () => performance.now(), random = Math.random, metrics, log } = options;
    this.#nowMs = nowMs;
    this.#random = random;
    this.#log = log;
    this.#attempts = metrics?.counter(
      'askwatch_gateway_attempts_total',
      'Requests to upstreams, by provider and outcome.',
      ['provider', 'outcome'],
    );
    metrics?.gauges(
      'askwatch_gateway_upstream_resting',
      '1 while an upstream is avoided because it failed, else 0.',
      ['provider', 'model'],
      () =>
        [...this.#circuits.values()].map(({ provider, model, state }) => ({
          labels: { provider, model },
          value: state === 'closed' ? 0 : 1,
        })),
    );
  }

  /**
   * Returns the upstream to ask next: the first one whose circuit is closed or ready for its probe. Otherwise the one that
   * can be probed first, if its time has come or `evenOpen` is set.
   */
  choose(upstreams: readonly Upstream[], evenOpen: boolean): Upstream | undefined {
    const ready = upstreams.find((upstream) => this.#letsThrough(this.#circuitOf(upstream)));
    if (ready) return ready;
    const now = this.#nowMs();
    const [soonest] = upstreams
      .map((upstream) => ({ upstream, untilMs: this.#circuitOf(upstream).openUntilMs }))
      .filter(({ untilMs }) => evenOpen || untilMs <= now)
      .sort((a, b) => a.untilMs - b.untilMs);
    return soonest?.upstream;
  }

  /** Begins a request to an upstream. */
  attempt(upstream: Upstream): Attempt {
    const circuit = this.#circuitOf(upstream);
    const { provider, era } = circuit;
    const wasClosed = circuit.state === 'closed';
    const isProbe = !wasClosed && this.#letsThrough(circuit);
    if (isProbe) circuit.state = 'halfOpen';
    const end = (outcome: string) => {
      this.#attempts?.(provider, outcome).inc();
      if (isProbe && circuit.era === era) circuit.state = 'open';
    };
    return {
      answered: () => {
        end('answered');
        if (circuit.era !== era) return;
        circuit.failures = 0;
        if (wasClosed) circuit.openMs = 0;
        else this.#close(circuit);
      },
      failed: (error) => {
        end(error.kind);
        if (error.kind === 'request') return;
        const counts = circuit.era === era && (isProbe || wasClosed);
        if (counts) this.#countFailure(circuit, 'failures', error);
        else this.#prolong(circuit, error);
      },
      cancelled: () => end('left'),
    };
  }

  /** Counts an answer that broke off after it began. */
  brokeOff(upstream: Upstream, error: UpstreamError): void {
    const circuit = this.#circuitOf(upstream);
    this.#attempts?.(circuit.provider, 'broke').inc();
    if (error.kind === 'request') return;
    if (circuit.state === 'closed') this.#countFailure(circuit, 'breaks', error);
    else this.#prolong(circuit, error);
  }

  /** Notes that an answer arrived whole. */
  succeeded(upstream: Upstream): void {
    this.#circuitOf(upstream).breaks = 0;
  }

  #circuitOf({ provider, model, label }: Upstream): Circuit {
    let circuit = this.#circuits.get(label);
    if (!circuit) {
      const counts = { openUntilMs: 0, openMs: 0, failures: 0, breaks: 0, era: 0 };
      circuit = { provider, model, state: 'closed', ...counts };
      this.#circuits.set(label, circuit);
    }
    return circuit;
  }

  #letsThrough({ state, openUntilMs }: Circuit): boolean {
    return state === 'closed' || (state === 'open' && this.#nowMs() >= openUntilMs);
  }

  #countFailure(circuit: Circuit, streak: 'failures' | 'breaks', error: UpstreamError): void {
    circuit[streak] += 1;
    const isProbe = circuit.state !== 'closed';
    if (isProbe || opensAtOnce(error) || circuit[streak] >= MAX_FAILURES) {
      this.#open(circuit, error);
    }
  }

  #open(circuit: Circuit, error: UpstreamError): void {
    const { provider, model, state } = circuit;
    circuit.openMs = openMsAfter(error, circuit.openMs);
    // Times that providers ask for are kept exactly. The others vary, so that several gateways don't come back together.
    const lengthMs = error.retryAfterMs
      ? circuit.openMs
      : circuit.openMs * (1 - 0.2 * this.#random());
    circuit.openUntilMs = this.#nowMs() + lengthMs;
    changeState(circuit, 'open');
    this.#log[lengthMs < WARNING_MS ? 'debug' : 'warn'](
      { provider, model, openMs: Math.round(lengthMs), ...failureForLog(error) },
      state === 'closed'
        ? 'upstream failing; circuit opened'
        : 'upstream still failing; circuit opened again',
    );
  }

  #close(circuit: Circuit): void {
    const { provider, model, openMs } = circuit;
    changeState(circuit, 'closed');
    this.#log[openMs < WARNING_MS ? 'debug' : 'info'](
      { provider, model },
      'upstream answers again; circuit closed',
    );
  }

  /** Applies a failure that is no news, but may ask for a later time to come back. */
  #prolong(circuit: Circuit, { retryAfterMs = 0 }: UpstreamError): void {
    if (circuit.state === 'closed') return;
    const untilMs = this.#nowMs() + Math.min(retryAfterMs, LONGEST_OPEN_MS);
    circuit.openUntilMs = Math.max(circuit.openUntilMs, untilMs);
  }
}

function changeState(circuit: Circuit, state: 'open' | 'closed'): void {
  circuit.state = state;
  circuit.era += 1;
  circuit.breaks = 0;
}

/** The upstream itself said that asking again now is of no use. */
function opensAtOnce({ kind, retryAfterMs = 0 }: UpstreamError): boolean {
  return retryAfterMs > 0 || kind === 'account';
}

function openMsAfter({ kind, retryAfterMs }: UpstreamError, lastMs: number): number {
  if (retryAfterMs) return Math.min(retryAfterMs, LONGEST_OPEN_MS);
  const shortestMs = kind === 'account' ? ACCOUNT_OPEN_MS : FIRST_OPEN_MS;
  return Math.min(Math.max(shortestMs, lastMs * 2), LONGEST_OPEN_MS);
}
