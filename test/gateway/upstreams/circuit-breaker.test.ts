import { expect, test } from 'vitest';
import { type FailureKind, UpstreamError } from '../../../src/gateway/shared/upstream-error.ts';
import { CircuitBreaker } from '../../../src/gateway/upstreams/circuit-breaker.ts';
import type { Upstream } from '../../../src/gateway/upstreams/upstream.ts';
import { HttpError } from '../../../src/http/errors.ts';
import { runningServer } from '../../helpers/http/running-server.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

const FIVE_MINUTES_MS = 300_000;

function upstream(provider: string, model = 'm'): Upstream {
  const unused = () => {
    throw new Error('It is only named here.');
  };
  const label = `${provider}/${model}`;
  return { provider, model, label, maxChoices: 1, complete: unused, stream: unused };
}

function failure(kind: FailureKind, retryAfterMs?: number): UpstreamError {
  return new UpstreamError(new HttpError(502, 'x', 'It failed.'), {
    tryNext: true,
    kind,
    retryAfterMs,
  });
}

/** A circuit breaker over a clock that stands until it is moved; without jitter unless told otherwise. */
function standingBreaker(random = () => 0) {
  const { log, lines } = recordingLog();
  const clock = { ms: 1_000 };
  const circuitBreaker = new CircuitBreaker({ nowMs: () => clock.ms, random, log });
  const [a, b] = [upstream('a'), upstream('b')];
  const fail = (of = a, error = failure('server')) => circuitBreaker.attempt(of).failed(error);
  const isOpen = (of = a) => circuitBreaker.choose([of], false) === undefined;
  /** Returns how long the circuit of `a` stays open from now on, in whole milliseconds. */
  const openMsOf = (of = a) => {
    const startMs = clock.ms;
    let [low, high] = [0, 10 * FIVE_MINUTES_MS];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      clock.ms = startMs + middle;
      if (isOpen(of)) low = middle + 1;
      else high = middle;
    }
    clock.ms = startMs;
    return low;
  };
  return { circuitBreaker, clock, a, b, fail, isOpen, openMsOf, lines };
}

test.each(['server', 'connection', 'silence', 'unusable', 'limited'] as const)(
  'The third failure in a row (%s) opens the circuit for 15 seconds',
  (kind) => {
    const { fail, a, openMsOf, isOpen } = standingBreaker();
    fail(a, failure(kind));
    fail(a, failure(kind));
    expect(isOpen()).toBe(false);
    fail(a, failure(kind));
    expect(openMsOf()).toBe(15_000);
  },
);

test('failures with an answer between them are not in a row', () => {
  const { circuitBreaker, fail, a, isOpen } = standingBreaker();
  for (let round = 0; round < 5; round += 1) {
    fail();
    fail();
    expect(isOpen()).toBe(false);
    circuitBreaker.attempt(a).answered();
  }
});

test('a refusal of the request and a client who left count neither way', () => {
  const { circuitBreaker, fail, a, isOpen } = standingBreaker();
  for (let times = 0; times < 5; times += 1) {
    fail(a, failure('request'));
    circuitBreaker.brokeOff(a, failure('request'));
    circuitBreaker.attempt(a).cancelled();
  }
  fail();
  fail();
  fail(a, failure('request'));
  circuitBreaker.attempt(a).cancelled();
  expect(isOpen()).toBe(false);
  fail();
  expect(isOpen()).toBe(true);
});

test('A circuit stays open twice as long, up to five minutes, while the probes fail, and briefly again after answers', () => {
  const { circuitBreaker, clock, fail, a, openMsOf } = standingBreaker();
  fail();
  fail();
  fail();
  for (const expected of [15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000]) {
    expect(openMsOf()).toBe(expected);
    clock.ms += expected;
    fail();
  }
  clock.ms += FIVE_MINUTES_MS;
  circuitBreaker.attempt(a).answered();
  fail();
  fail();
  fail();
  expect(openMsOf(), 'one answer is not yet forgiveness').toBe(FIVE_MINUTES_MS);
  clock.ms += FIVE_MINUTES_MS;
  circuitBreaker.attempt(a).answered();
  circuitBreaker.attempt(a).answered();
  fail();
  fail();
  fail();
  expect(openMsOf()).toBe(15_000);
});

test('The time a circuit is open varies by a fifth, but never ends before the one that the provider asked for', () => {
  const { fail, a, b, openMsOf } = standingBreaker(() => 1);
  fail();
  fail();
  fail();
  expect(openMsOf()).toBe(12_000);
  fail(b, failure('limited', 7_000));
  expect(openMsOf(b)).toBe(7_000);
  fail(a, failure('server', 20_000));
  expect(openMsOf(), 'a later time told meanwhile counts').toBe(20_000);
  fail(a, failure('server', 3_600_000));
  expect(openMsOf()).toBe(FIVE_MINUTES_MS);
});

test.each([
  [failure('limited', 7_000), 7_000],
  [failure('server', 7_000), 7_000],
  [failure('limited', 3_600_000), FIVE_MINUTES_MS],
  [failure('account'), 60_000],
  [failure('limited', 0), 0],
  [failure('limited'), 0],
])('One failure opens the circuit at once or does not, by its kind (%#)', (error, expected) => {
  const { fail, a, openMsOf } = standingBreaker();
  fail(a, error);
  expect(openMsOf()).toBe(expected);
});

test('A failed probe opens the circuit for longer, whatever opened it first', () => {
  const { clock, fail, a, openMsOf } = standingBreaker();
  fail(a, failure('account'));
  clock.ms += 60_000;
  fail(a, failure('server'));
  expect(openMsOf()).toBe(120_000);
});

test('A circuit whose time is over is half open: one request probes it, whatever its outcome', () => {
  const { circuitBreaker, clock, fail, a, b, isOpen } = standingBreaker();
  fail(a, failure('account'));
  clock.ms += 60_000;
  for (const give of [
    (asking: ReturnType<typeof circuitBreaker.attempt>) => asking.cancelled(),
    (asking: ReturnType<typeof circuitBreaker.attempt>) => asking.failed(failure('request')),
  ]) {
    expect(circuitBreaker.choose([a, b], true)).toBe(a);
    const probe = circuitBreaker.attempt(a);
    expect(circuitBreaker.choose([a, b], true)).toBe(b);
    give(probe);
    expect(circuitBreaker.choose([a, b], true)).toBe(a);
  }
  const probe = circuitBreaker.attempt(a);
  circuitBreaker.attempt(a).cancelled();
  expect(circuitBreaker.choose([a, b], true), 'another who left frees nothing').toBe(b);
  probe.answered();
  expect(isOpen()).toBe(false);
  expect(circuitBreaker.choose([a, b], true)).toBe(a);
});

test('A request from before the circuit opened or closed does not change it', () => {
  const { circuitBreaker, clock, fail, a, b, openMsOf, isOpen } = standingBreaker();
  const before = Array.from({ length: 6 }, () => circuitBreaker.attempt(a));
  fail();
  fail();
  fail();
  before[0]?.answered();
  before[1]?.failed(failure('server'));
  expect(openMsOf()).toBe(15_000);
  before[2]?.failed(failure('limited', 40_000));
  expect(openMsOf()).toBe(40_000);
  clock.ms += 40_000;
  before[3]?.failed(failure('silence'));
  before[4]?.answered();
  expect(isOpen()).toBe(false);
  const probe = circuitBreaker.attempt(a);
  expect(circuitBreaker.choose([a, b], true)).toBe(b);
  const meanwhile = circuitBreaker.attempt(a);
  probe.answered();
  meanwhile.failed(failure('account'));
  before[5]?.failed(failure('account'));
  expect(isOpen()).toBe(false);
});

test('An answer to an earlier request clears no failures, and closes no circuit that opened later', () => {
  const { circuitBreaker, clock, fail, a, openMsOf, isOpen } = standingBreaker();
  const before = circuitBreaker.attempt(a);
  fail();
  fail();
  fail();
  const inFirstRest = circuitBreaker.attempt(a);
  before.answered();
  clock.ms += 15_000;
  fail();
  expect(openMsOf()).toBe(30_000);
  inFirstRest.answered();
  expect(isOpen()).toBe(true);
});

test('A probe that outlives its time does not affect the next one', () => {
  const { circuitBreaker, clock, fail, a, b } = standingBreaker();
  const restAndWait = () => {
    fail(a, failure('account'));
    clock.ms += FIVE_MINUTES_MS;
  };
  restAndWait();
  const first = circuitBreaker.attempt(a);
  circuitBreaker.attempt(a).answered();
  restAndWait();
  expect(circuitBreaker.choose([a, b], true), 'it does not hold the place either').toBe(a);
  circuitBreaker.attempt(a);
  first.cancelled();
  expect(circuitBreaker.choose([a, b], true)).toBe(b);
});

test('An upstream that is called although its circuit is open closes it by an answer, and a failure does not prolong it', () => {
  const { circuitBreaker, fail, a, openMsOf, isOpen } = standingBreaker();
  fail(a, failure('account'));
  fail();
  fail();
  expect(openMsOf()).toBe(60_000);
  circuitBreaker.attempt(a).answered();
  expect(isOpen()).toBe(false);
});

test('Three answers that broke off open the circuit, unless one came whole between them', () => {
  const { circuitBreaker, a, openMsOf, isOpen } = standingBreaker();
  const breakOff = () => {
    circuitBreaker.attempt(a).answered();
    circuitBreaker.brokeOff(a, failure('connection'));
  };
  breakOff();
  breakOff();
  circuitBreaker.succeeded(a);
  breakOff();
  breakOff();
  expect(isOpen()).toBe(false);
  breakOff();
  expect(openMsOf()).toBe(15_000);
  circuitBreaker.brokeOff(a, failure('connection'));
  expect(openMsOf()).toBe(15_000);
  circuitBreaker.attempt(a).answered();
  breakOff();
  expect(isOpen(), 'once it was open they are counted from 0').toBe(false);
});

test('Open circuits come last, the one whose time ends first before the others', () => {
  const { circuitBreaker, clock, fail, a, b } = standingBreaker();
  const c = upstream('c');
  expect(circuitBreaker.choose([a, b, c], false)).toBe(a);
  fail(a, failure('limited', 9_000));
  expect(circuitBreaker.choose([a, b, c], false)).toBe(b);
  fail(b, failure('limited', 5_000));
  expect(circuitBreaker.choose([a, b, c], true)).toBe(c);
  fail(c, failure('limited', 20_000));
  expect(circuitBreaker.choose([a, b, c], true)).toBe(b);
  expect(circuitBreaker.choose([a, c], true)).toBe(a);
  expect(circuitBreaker.choose([a, b, c], false)).toBeUndefined();
  expect(circuitBreaker.choose([], true)).toBeUndefined();
  clock.ms += 5_000;
  circuitBreaker.attempt(b);
  expect(circuitBreaker.choose([a, b, c], false), 'a half-open one before an open one').toBe(b);
  clock.ms += 20_000;
  expect(circuitBreaker.choose([b, a, c], true)).toBe(a);
});

test('Each model of a provider has a circuit of its own, shared by all callers', () => {
  const { fail, isOpen } = standingBreaker();
  fail(upstream('a', 'broken'), failure('account'));
  expect(isOpen(upstream('a', 'broken'))).toBe(true);
  expect(isOpen(upstream('a', 'other'))).toBe(false);
});

test('Opening and closing log one line each, and a short pause that a provider asks for is no warning', () => {
  const { circuitBreaker, clock, fail, a, lines } = standingBreaker();
  const told = () => lines.splice(0).map(({ level, msg, openMs }) => [level, msg, openMs]);
  for (let times = 0; times < 10; times += 1) fail();
  expect(told()).toEqual([[40, 'upstream failing; circuit opened', 15_000]]);
  clock.ms += 15_000;
  fail();
  fail();
  expect(told()).toEqual([[40, 'upstream still failing; circuit opened again', 30_000]]);
  clock.ms += 30_000;
  for (let times = 0; times < 10; times += 1) circuitBreaker.attempt(a).answered();
  expect(told()).toEqual([[30, 'upstream answers again; circuit closed', undefined]]);
  fail(a, failure('limited', 1_000));
  clock.ms += 1_000;
  circuitBreaker.attempt(a).answered();
  expect(told().map(([level]) => level)).toEqual([20, 20]);
});

test('The metrics show which circuits are open and the outcome of each attempt', async () => {
  const { log } = recordingLog();
  const { ask } = await runningServer(({ metrics }) => {
    const circuitBreaker = new CircuitBreaker({ metrics, log });
    const [a, b] = [upstream('a'), upstream('b')];
    circuitBreaker.attempt(a).answered();
    circuitBreaker.brokeOff(a, failure('connection'));
    circuitBreaker.attempt(b).failed(failure('account'));
    circuitBreaker.attempt(b).cancelled();
  });
  const { text } = await ask('/metrics');
  for (const line of [
    'askwatch_gateway_upstream_resting{provider="a",model="m"} 0',
    'askwatch_gateway_upstream_resting{provider="b",model="m"} 1',
    'askwatch_gateway_attempts_total{provider="a",outcome="answered"} 1',
    'askwatch_gateway_attempts_total{provider="a",outcome="broke"} 1',
    'askwatch_gateway_attempts_total{provider="b",outcome="account"} 1',
    'askwatch_gateway_attempts_total{provider="b",outcome="left"} 1',
  ]) {
    expect(text).toContain(line);
  }
});
