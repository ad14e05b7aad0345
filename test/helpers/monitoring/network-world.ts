import type { CheckResult, Outcome } from '../../../src/monitoring/checks/check-result.ts';
import { Connectivity } from '../../../src/monitoring/connectivity/connectivity.ts';
import {
  applyResult,
  createInitialState,
  discardUnconfirmed,
  type MonitorState,
} from '../../../src/monitoring/state/state.ts';
import { createRandom } from '../random.ts';

const INTERVAL_MS = 60_000;
const TIMEOUT_MS = 10_000;
const SECOND_LOOK_MS = 5_000;

/** A time from its start up to its end, milliseconds of the simulation. */
export interface Stretch {
  fromMs: number;
  toMs: number;
}

export interface World {
  seed: number;
  hosts: number;
  lastsMs: number;
  /** When our own network is gone. */
  losses: readonly Stretch[];
  /** The host itself is down at a time. */
  isDown: (host: number, atMs: number) => boolean;
  nameOf?: (host: number) => string;
}

/** Results of a simulation. Times are milliseconds of the simulation. */
export interface Seen {
  /** Hosts that went DOWN, and when; each as often as it did. */
  downs: Array<{ host: number; atMs: number }>;
  lost: number[];
  back: number[];
  longestHeldMs: number;
  passedButHeld: number;
  probes: number;
}

/**
 * Looks at many hosts as the service does, each every minute and again after 5 s when a failure is not confirmed, with
 * everything random drawn from the seed: phases, delays, and how each host fails while the network is gone.
 */
export async function simulate(world: World): Promise<Seen> {
  const random = createRandom(world.seed);
  const between = (min: number, max: number) => Math.floor(min + random() * (max - min + 1));
  const queue = createQueue();
  const isLost = (atMs: number) =>
    world.losses.some(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs);
  const seen: Seen = {
    downs: [],
    lost: [],
    back: [],
    longestHeldMs: 0,
    passedButHeld: 0,
    probes: 0,
  };
  const network = new Connectivity({
    probe() {
      seen.probes += 1;
      const askedMs = queue.nowMs();
      const takesMs = isLost(askedMs) ? between(1, 2_500) : between(1, 80);
      return new Promise((resolve) => {
        queue.after(takesMs, () => resolve(!isLost(askedMs) && !isLost(queue.nowMs())));
      });
    },
    nowMs: queue.nowMs,
    onLost: () => seen.lost.push(queue.nowMs()),
    onBack: () => seen.back.push(queue.nowMs()),
  });
  const nameOf = world.nameOf ?? ((host) => `${host}.example`);

  /** Result of a check that begins now, and its end. */
  function look(host: number): { outcome: Outcome; takesMs: number } {
    const startMs = queue.nowMs();
    const lostAtOnce = () => {
      const kind = host % 3;
      if (kind === 0) return { outcome: 'connection' as const, takesMs: between(1, 20) };
      if (kind === 1) return { outcome: 'name' as const, takesMs: between(2_000, 4_000) };
      return { outcome: 'timeout' as const, takesMs: TIMEOUT_MS };
    };
    if (isLost(startMs)) return lostAtOnce();
    if (world.isDown(host, startMs)) return lostAtOnce();
    const takesMs = between(5, 400);
    const cut = world.losses.find(({ fromMs }) => startMs < fromMs && fromMs < startMs + takesMs);
    // Answers that are already on the way arrive, although the network is down.
    if (!cut || startMs + takesMs - cut.fromMs < 5) return { outcome: 'ok', takesMs };
    return { outcome: 'timeout', takesMs: TIMEOUT_MS };
  }

  function watch(host: number) {
    let state: MonitorState = createInitialState(0);
    let ideal = between(0, INTERVAL_MS);
    function run() {
      const { outcome, takesMs } = look(host);
      queue.after(takesMs, () => {
        const result: CheckResult = { ok: outcome === 'ok', outcome, responseTimeMs: takesMs };
        void settle(result);
      });
    }
    async function settle(result: CheckResult) {
      const askedMs = queue.nowMs();
      const verdict = await network.judge(nameOf(host), result);
      const heldMs = queue.nowMs() - askedMs;
      seen.longestHeldMs = Math.max(seen.longestHeldMs, heldMs);
      if (result.ok && heldMs > 0) seen.passedButHeld += 1;
      const { recheckSoon, change, ...step } =
        verdict === 'count'
          ? applyResult(state, result, { toDown: 2, toUp: 1 }, queue.nowMs())
          : discardUnconfirmed(state);
      state = step.state;
      if (change?.to === 'DOWN') seen.downs.push({ host, atMs: queue.nowMs() });
      while (ideal <= queue.nowMs()) ideal += INTERVAL_MS;
      queue.after(recheckSoon ? SECOND_LOOK_MS : ideal - queue.nowMs(), run);
    }
    queue.after(ideal, run);
  }

  for (let host = 0; host < world.hosts; host += 1) watch(host);
  await queue.runUntil(world.lastsMs);
  return seen;
}

/** Calls at whole milliseconds, in order; what they start is awaited before time goes on. */
function createQueue() {
  let nowMs = 0;
  const calls = new Map<number, Set<() => void>>();
  return {
    nowMs: () => nowMs,
    after(delayMs: number, call: () => void) {
      const atMs = nowMs + Math.max(1, delayMs);
      const due = calls.get(atMs) ?? new Set();
      calls.set(atMs, due.add(call));
      return () => due.delete(call);
    },
    async runUntil(endMs: number) {
      for (; nowMs < endMs; nowMs += 1) {
        const due = calls.get(nowMs);
        if (!due) continue;
        calls.delete(nowMs);
        for (const call of due) call();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}
