import { expect, test } from 'vitest';
import { type FailureKind, UpstreamError } from '../../../src/gateway/shared/upstream-error.ts';
import { createRests } from '../../../src/gateway/upstreams/circuit-breaker.ts';
import type { Upstream } from '../../../src/gateway/upstreams/upstream.ts';
import { HttpError } from '../../../src/http/errors.ts';
import { runningServer } from '../../helpers/http/running-server.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

const FIVE_MINUTES_MS = 300_000;

function upstream(provider: string, model = 'm'): Upstream {
  const unused = () => {
    throw new Error('It is only named here.');
  };
  return { provider, model, maxChoices: 1, complete: unused, stream: unused };
}

function failure(kind: FailureKind, retryAfterMs?: number): UpstreamError {
  return new UpstreamError(new HttpError(502, 'x', 'It failed.'), {
    tryNext: true,
    kind,
    retryAfterMs,
  });
}

/** Rests over a clock that stands until it is moved; without jitter unless told otherwise. */
function standingRests(random = () => 0) {
  const { log, lines } = recordingLog();
  const clock = { ms: 1_000 };
  const rests = createRests({ nowMs: () => clock.ms, random, log });
  const [a, b] = [upstream('a'), upstream('b')];
  const fail = (of = a, error = failure('server')) => rests.ask(of).failed(error);
  const restsNow = (of = a) => rests.choose([of], false) === undefined;
  /** How long `a` rests from now on, in whole milliseconds. */
  const restOf = (of = a) => {
    const startMs = clock.ms;
    let [low, high] = [0, 10 * FIVE_MINUTES_MS];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      clock.ms = startMs + middle;
      if (restsNow(of)) low = middle + 1;
      else high = middle;
    }
    clock.ms = startMs;
    return low;
  };
  return { rests, clock, a, b, fail, restsNow, restOf, lines };
}

test.each(['server', 'connection', 'silence', 'unusable', 'limited'] as const)(
  'the third failure in a row (%s) is a rest of 15 seconds',
  (kind) => {
    const { fail, a, restOf, restsNow } = standingRests();
    fail(a, failure(kind));
    fail(a, failure(kind));
    expect(restsNow()).toBe(false);
    fail(a, failure(kind));
    expect(restOf()).toBe(15_000);
  },
);

test('failures with an answer between them are not in a row', () => {
  const { rests, fail, a, restsNow } = standingRests();
  for (let round = 0; round < 5; round += 1) {
    fail();
    fail();
    expect(restsNow()).toBe(false);
    rests.ask(a).answered();
  }
});

test('a refusal of the request and a caller who left count neither way', () => {
  const { rests, fail, a, restsNow } = standingRests();
  for (let times = 0; times < 5; times += 1) {
    fail(a, failure('request'));
    rests.failed(a, failure('request'));
    rests.ask(a).left();
  }
  fail();
  fail();
  fail(a, failure('request'));
  rests.ask(a).left();
  expect(restsNow()).toBe(false);
  fail();
  expect(restsNow()).toBe(true);
});

test('rests double up to five minutes while the probes fail, and are short again after answers', () => {
  const { rests, clock, fail, a, restOf } = standingRests();
  fail();
  fail();
  fail();
  for (const expected of [15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000]) {
    expect(restOf()).toBe(expected);
    clock.ms += expected;
    fail();
  }
  clock.ms += FIVE_MINUTES_MS;
  rests.ask(a).answered();
  fail();
  fail();
  fail();
  expect(restOf(), 'one answer is not yet forgiveness').toBe(FIVE_MINUTES_MS);
  clock.ms += FIVE_MINUTES_MS;
  rests.ask(a).answered();
  rests.ask(a).answered();
  fail();
  fail();
  fail();
  expect(restOf()).toBe(15_000);
});

test('rests vary by a fifth, but never end before a told time', () => {
  const { fail, a, b, restOf } = standingRests(() => 1);
  fail();
  fail();
  fail();
  expect(restOf()).toBe(12_000);
  fail(b, failure('limited', 7_000));
  expect(restOf(b)).toBe(7_000);
  fail(a, failure('server', 20_000));
  expect(restOf(), 'a later time told meanwhile counts').toBe(20_000);
  fail(a, failure('server', 3_600_000));
  expect(restOf()).toBe(FIVE_MINUTES_MS);
});

test.each([
  [failure('limited', 7_000), 7_000],
  [failure('server', 7_000), 7_000],
  [failure('limited', 3_600_000), FIVE_MINUTES_MS],
  [failure('account'), 60_000],
  [failure('limited', 0), 0],
  [failure('limited'), 0],
])('one failure %# is a rest at once, or none', (error, expected) => {
  const { fail, a, restOf } = standingRests();
  fail(a, error);
  expect(restOf()).toBe(expected);
});

test('a failed probe is a longer rest, whatever the first one was for', () => {
  const { clock, fail, a, restOf } = standingRests();
  fail(a, failure('account'));
  clock.ms += 60_000;
  fail(a, failure('server'));
  expect(restOf()).toBe(120_000);
});

test('a rest that is over is tried out by one request, whatever that leads to', () => {
  const { rests, clock, fail, a, b, restsNow } = standingRests();
  fail(a, failure('account'));
  clock.ms += 60_000;
  for (const give of [
    (asking: ReturnType<typeof rests.ask>) => asking.left(),
    (asking: ReturnType<typeof rests.ask>) => asking.failed(failure('request')),
  ]) {
    expect(rests.choose([a, b], true)).toBe(a);
    const probe = rests.ask(a);
    expect(rests.choose([a, b], true)).toBe(b);
    give(probe);
    expect(rests.choose([a, b], true)).toBe(a);
  }
  const probe = rests.ask(a);
  rests.ask(a).left();
  expect(rests.choose([a, b], true), 'another who left frees nothing').toBe(b);
  probe.answered();
  expect(restsNow()).toBe(false);
  expect(rests.choose([a, b], true)).toBe(a);
});

test('what was asked before the rest began or ended says nothing about it', () => {
  const { rests, clock, fail, a, b, restOf, restsNow } = standingRests();
  const before = Array.from({ length: 6 }, () => rests.ask(a));
  fail();
  fail();
  fail();
  before[0]?.answered();
  before[1]?.failed(failure('server'));
  expect(restOf()).toBe(15_000);
  before[2]?.failed(failure('limited', 40_000));
  expect(restOf()).toBe(40_000);
  clock.ms += 40_000;
  before[3]?.failed(failure('silence'));
  before[4]?.answered();
  expect(restsNow()).toBe(false);
  const probe = rests.ask(a);
  expect(rests.choose([a, b], true)).toBe(b);
  const meanwhile = rests.ask(a);
  probe.answered();
  meanwhile.failed(failure('account'));
  before[5]?.failed(failure('account'));
  expect(restsNow()).toBe(false);
});

test('an answer from before is no forgiveness, and ends no later rest', () => {
  const { rests, clock, fail, a, restOf, restsNow } = standingRests();
  const before = rests.ask(a);
  fail();
  fail();
  fail();
  const inFirstRest = rests.ask(a);
  before.answered();
  clock.ms += 15_000;
  fail();
  expect(restOf()).toBe(30_000);
  inFirstRest.answered();
  expect(restsNow()).toBe(true);
});

test('a probe that outlives its rest has no say in the next one', () => {
  const { rests, clock, fail, a, b } = standingRests();
  const restAndWait = () => {
    fail(a, failure('account'));
    clock.ms += FIVE_MINUTES_MS;
  };
  restAndWait();
  const first = rests.ask(a);
  rests.ask(a).answered();
  restAndWait();
  expect(rests.choose([a, b], true), 'it does not hold the place either').toBe(a);
  rests.ask(a);
  first.left();
  expect(rests.choose([a, b], true)).toBe(b);
});

test('one asked while it rests ends the rest by an answer, and does not lengthen it by a failure', () => {
  const { rests, fail, a, restOf, restsNow } = standingRests();
  fail(a, failure('account'));
  fail();
  fail();
  expect(restOf()).toBe(60_000);
  rests.ask(a).answered();
  expect(restsNow()).toBe(false);
});

test('three answers that broke off are a rest, unless one came whole between them', () => {
  const { rests, a, restOf, restsNow } = standingRests();
  const breakOff = () => {
    rests.ask(a).answered();
    rests.failed(a, failure('connection'));
  };
  breakOff();
  breakOff();
  rests.succeeded(a);
  breakOff();
  breakOff();
  expect(restsNow()).toBe(false);
  breakOff();
  expect(restOf()).toBe(15_000);
  rests.failed(a, failure('connection'));
  expect(restOf()).toBe(15_000);
  rests.ask(a).answered();
  breakOff();
  expect(restsNow(), 'after a rest they are counted anew').toBe(false);
});

test('those that rest come last, the one whose rest ends first before the others', () => {
  const { rests, clock, fail, a, b } = standingRests();
  const c = upstream('c');
  expect(rests.choose([a, b, c], false)).toBe(a);
  fail(a, failure('limited', 9_000));
  expect(rests.choose([a, b, c], false)).toBe(b);
  fail(b, failure('limited', 5_000));
  expect(rests.choose([a, b, c], true)).toBe(c);
  fail(c, failure('limited', 20_000));
  expect(rests.choose([a, b, c], true)).toBe(b);
  expect(rests.choose([a, c], true)).toBe(a);
  expect(rests.choose([a, b, c], false)).toBeUndefined();
  expect(rests.choose([], true)).toBeUndefined();
  clock.ms += 5_000;
  rests.ask(b);
  expect(rests.choose([a, b, c], false), 'one that is tried out before one that rests').toBe(b);
  clock.ms += 20_000;
  expect(rests.choose([b, a, c], true)).toBe(a);
});

test('models of a provider rest apart, and one model rests for all who ask it', () => {
  const { fail, restsNow } = standingRests();
  fail(upstream('a', 'broken'), failure('account'));
  expect(restsNow(upstream('a', 'broken'))).toBe(true);
  expect(restsNow(upstream('a', 'other'))).toBe(false);
});

test('each rest is one line, its end is one, and short ones told by the provider are no warning', () => {
  const { rests, clock, fail, a, lines } = standingRests();
  const told = () => lines.splice(0).map(({ level, msg, restMs }) => [level, msg, restMs]);
  for (let times = 0; times < 10; times += 1) fail();
  expect(told()).toEqual([[40, 'an upstream fails and rests', 15_000]]);
  clock.ms += 15_000;
  fail();
  fail();
  expect(told()).toEqual([[40, 'an upstream still fails and rests again', 30_000]]);
  clock.ms += 30_000;
  for (let times = 0; times < 10; times += 1) rests.ask(a).answered();
  expect(told()).toEqual([[30, 'an upstream answers again', undefined]]);
  fail(a, failure('limited', 1_000));
  clock.ms += 1_000;
  rests.ask(a).answered();
  expect(told().map(([level]) => level)).toEqual([20, 20]);
});

test('the metrics tell who rests and what became of each attempt', async () => {
  const { log } = recordingLog();
  const { ask } = await runningServer(({ metrics }) => {
    const rests = createRests({ metrics, log });
    const [a, b] = [upstream('a'), upstream('b')];
    rests.ask(a).answered();
    rests.failed(a, failure('connection'));
    rests.ask(b).failed(failure('account'));
    rests.ask(b).left();
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
