import { describe, expect, test } from 'vitest';
import type { CheckResult, Outcome } from '../../../src/monitoring/checks/check-result.ts';
import { Connectivity } from '../../../src/monitoring/connectivity/connectivity.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';

const good: CheckResult = { ok: true, outcome: 'ok', responseTimeMs: 20 };
const failure = (outcome: Outcome, responseTimeMs = 20): CheckResult => ({
  ok: false,
  outcome,
  reason: outcome,
  responseTimeMs,
});
const refused = failure('connection');

/** An own network on a fake clock, with what it tells; the probe answers `probe.there` after `probe.takesMs`. */
function setUp(probe = { there: true, takesMs: 0 }) {
  const clock = createFakeClock();
  const startMs = clock.wallMs();
  const told: string[] = [];
  let probes = 0;
  const network = new Connectivity({
    async probe() {
      probes += 1;
      const { there, takesMs } = probe;
      if (takesMs > 0) await new Promise<void>((resolve) => clock.after(takesMs, resolve));
      return there;
    },
    nowMs: clock.wallMs,
    onLost: (sinceMs) => told.push(`lost since ${sinceMs - startMs}`),
    onBack: (sinceMs) => told.push(`back since ${sinceMs - startMs}`),
  });
  const verdicts: Array<'count' | 'drop' | 'waits'> = [];
  /** Judges without waiting; `verdicts` holds the verdicts in the order of the calls. */
  function judge(host: string, result: CheckResult = refused) {
    const index = verdicts.push('waits') - 1;
    void network.judge(host, result).then((verdict) => {
      verdicts[index] = verdict;
    });
  }
  return { clock, network, told, verdicts, judge, probe, probes: () => probes };
}

const hosts = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `${from + index}.example`);

test('counts a success and a lone failure at once and without a probe', async () => {
  const { clock, judge, verdicts, probes } = setUp();
  for (let look = 0; look < 20; look += 1) judge('a.example');
  for (const host of hosts(50)) judge(host, good);
  for (const outcome of ['status', 'tls', 'keyword', 'dns', 'redirect', 'protocol'] as const) {
    for (const host of hosts(10, 50)) judge(host, failure(outcome));
  }
  await clock.advance(0);
  expect(new Set(verdicts)).toEqual(new Set(['count']));
  expect(probes()).toBe(0);
});

test.each(['connection', 'timeout', 'name'] as const)(
  'holds back what fails by %s from the fifth host on, and drops it when the network is gone',
  async (outcome) => {
    const { clock, judge, verdicts, told, network } = setUp({ there: false, takesMs: 300 });
    for (const host of hosts(7)) {
      judge(host, failure(outcome));
      await clock.advance(10);
    }
    expect(verdicts).toEqual([...Array(4).fill('count'), 'waits', 'waits', 'waits']);
    expect(network.lost).toBe(false);
    await clock.advance(300);
    expect(verdicts).toEqual([...Array(4).fill('count'), 'drop', 'drop', 'drop']);
    expect(network.lost).toBe(true);
    expect(told).toEqual(['lost since 0']);
  },
);

test('counts the failures it held back when the network is there', async () => {
  const { clock, judge, verdicts, told, probes } = setUp({ there: true, takesMs: 300 });
  for (const host of hosts(40)) judge(host);
  await clock.advance(299);
  expect(verdicts.filter((verdict) => verdict === 'waits')).toHaveLength(36);
  await clock.advance(1);
  expect(verdicts).toEqual(Array(40).fill('count'));
  expect([told, probes()]).toEqual([[], 1]);
});

test('doubts the network when more than 30 % of the checked hosts begin to fail, however many there are', async () => {
  /** The network is in doubt when one in so many checks is a turn. */
  const doubts = async (oneOf: number, looks: number) => {
    const { clock, judge, probes } = setUp();
    for (let look = 1; look <= looks; look += 1) {
      judge(`${look}.example`, look % oneOf === 0 ? refused : good);
      await clock.advance(1);
    }
    return probes() > 0;
  };
  expect(await doubts(2, 200)).toBe(true);
  expect(await doubts(3, 200)).toBe(true);
  expect(await doubts(4, 200)).toBe(false);
  expect(await doubts(4, 3_000)).toBe(false);
});

test('failures that begin more than ten seconds apart raise no doubt', async () => {
  for (const [everyMs, doubts] of [
    [2_500, true],
    [2_501, false],
  ] as const) {
    const { clock, judge, probes } = setUp();
    for (const host of hosts(10)) {
      judge(host);
      await clock.advance(everyMs);
    }
    expect(probes() > 0).toBe(doubts);
  }
});

test('a host that goes up and down counts as one host', async () => {
  const { clock, judge, probes, verdicts } = setUp();
  for (let look = 0; look < 200; look += 1) {
    for (const host of hosts(4)) judge(host, look % 2 === 0 ? refused : good);
    await clock.advance(50);
  }
  expect(probes()).toBe(0);
  expect(new Set(verdicts)).toEqual(new Set(['count']));
});

test('hosts that are down already raise no doubt when they fail again', async () => {
  const { clock, judge, probes } = setUp();
  for (const host of hosts(20)) {
    judge(host);
    await clock.advance(11_000);
  }
  for (const host of hosts(20)) judge(host);
  await clock.advance(0);
  expect(probes()).toBe(0);
});

test.each([
  'localhost',
  'api.localhost',
  'LOCALHOST.',
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '::1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:2]',
])('takes %s for this machine: neither evidence nor ever dropped', async (host) => {
  const { clock, judge, verdicts, network, told } = setUp({ there: false, takesMs: 0 });
  for (const other of hosts(4)) judge(other);
  judge(host);
  await clock.advance(0);
  expect(network.lost).toBe(false);
  judge('4.example');
  await clock.advance(0);
  expect(network.lost).toBe(true);
  judge(host);
  judge(host, good);
  await clock.advance(0);
  expect(verdicts.slice(-2)).toEqual(['count', 'count']);
  expect(network.lost).toBe(true);
  expect(told).toHaveLength(1);
});

/** An own network that was just lost: `0.example` to `5.example` failed. */
async function setUpLost() {
  const set = setUp({ there: false, takesMs: 0 });
  for (const host of hosts(6)) set.judge(host);
  await set.clock.advance(0);
  expect(set.network.lost).toBe(true);
  set.verdicts.length = 0;
  return set;
}

test('a target that is not allowed is no evidence about the network', async () => {
  const { clock, judge, network } = await setUpLost();
  judge('new.example', failure('blocked'));
  await clock.advance(0);
  expect(network.lost).toBe(true);
});

describe('while the network is lost', () => {
  test('drops the failures that it causes, and counts those of other kinds', async () => {
    const { clock, judge, verdicts, told } = await setUpLost();
    for (let second = 0; second < 60; second += 1) {
      judge(`${second % 9}.example`);
      await clock.advance(1000);
    }
    expect(new Set(verdicts)).toEqual(new Set(['drop']));
    expect(told).toEqual(['lost since 0']);
  });

  test.each([
    ['a host that had failed', '3.example', good],
    ['another host', 'new.example', good],
    ['a host that answers with an error', '3.example', failure('status')],
    ['a host of our own network that had failed', '10.0.0.7', good],
  ])('ends once, by %s', async (_, host, result) => {
    const { clock, judge, verdicts, told, network } = await setUpLost();
    judge('10.0.0.7');
    await clock.advance(30_000);
    judge(host, result);
    judge(host, result);
    await clock.advance(0);
    expect(verdicts).toEqual(['drop', 'count', 'count']);
    expect(network.lost).toBe(false);
    expect(told).toEqual(['lost since 0', 'back since 0']);
  });

  test.each(['10.0.0.8', '192.168.1.1', '[fd00::8]', '[fe80::1]'])(
    'is not back by %s, which never failed',
    async (host) => {
      const { clock, judge, network } = await setUpLost();
      judge(host, good);
      await clock.advance(0);
      expect(network.lost).toBe(true);
    },
  );

  test('runs the probe no sooner than two seconds after its last answer, and ends by it', async () => {
    const { clock, judge, verdicts, told, probe, probes } = await setUpLost();
    for (let look = 0; look < 40; look += 1) {
      judge('0.example');
      await clock.advance(100);
    }
    expect(probes()).toBe(2);
    probe.there = true;
    await clock.advance(2_000);
    judge('0.example');
    await clock.advance(0);
    expect(verdicts.at(-1)).toBe('drop');
    expect(told).toEqual(['lost since 0', 'back since 0']);
    await clock.advance(1_000);
    judge('0.example');
    await clock.advance(0);
    expect(verdicts.at(-1)).toBe('count');
  });
});

test('drops after the return the failures of checks that began before it', async () => {
  const { clock, judge, verdicts } = await setUpLost();
  await clock.advance(30_000);
  judge('0.example', good);
  await clock.advance(9_000);
  judge('1.example', failure('timeout', 10_000));
  judge('2.example', failure('timeout', 9_000));
  judge('3.example', failure('timeout', 5_000));
  await clock.advance(0);
  expect(verdicts).toEqual(['count', 'drop', 'count', 'count']);
});

test('logs each loss, also one that comes soon after another', async () => {
  const { clock, judge, told, network } = await setUpLost();
  for (let loss = 0; loss < 3; loss += 1) {
    await clock.advance(1_000);
    judge('0.example', good);
    await clock.advance(1_000);
    expect(network.lost).toBe(false);
    // These hosts failed in the previous loss.
    for (const host of hosts(6)) judge(host);
    await clock.advance(0);
    expect(network.lost).toBe(true);
  }
  expect(told).toEqual([
    'lost since 0',
    'back since 0',
    'lost since 2000',
    'back since 2000',
    'lost since 4000',
    'back since 4000',
    'lost since 6000',
  ]);
});

test('a host that is reached while the network is in doubt outweighs a probe that says it is gone', async () => {
  const { clock, judge, verdicts, told, probes } = setUp({ there: false, takesMs: 500 });
  for (const host of hosts(6)) judge(host);
  judge('10.0.0.1', good);
  await clock.advance(0);
  expect(verdicts).toEqual([...Array(4).fill('count'), 'waits', 'waits', 'count']);
  judge('fine.example', good);
  await clock.advance(1_000);
  expect(verdicts).toEqual(Array(8).fill('count'));
  expect([told, probes()]).toEqual([[], 1]);
  for (const host of hosts(6, 10)) judge(host);
  await clock.advance(500);
  expect(told).toEqual(['lost since 1000']);
});

test('a probe still open when the network came back does not count for a later doubt', async () => {
  const { clock, judge, told, probe, verdicts } = await setUpLost();
  probe.takesMs = 3_000;
  await clock.advance(2_000);
  judge('0.example');
  await clock.advance(1_000);
  judge('0.example', good);
  probe.there = true;
  await clock.advance(100);
  for (const host of hosts(5, 20)) judge(host);
  await clock.advance(2_500);
  expect(verdicts.at(-1)).toBe('waits');
  await clock.advance(500);
  expect(verdicts.at(-1)).toBe('count');
  expect(told).toEqual(['lost since 0', 'back since 0']);
});

test('does not probe again for two seconds while many targets are really down', async () => {
  const { clock, judge, verdicts, probes } = setUp({ there: true, takesMs: 10 });
  for (const host of hosts(200)) {
    judge(host);
    await clock.advance(100);
  }
  await clock.advance(5_000);
  expect(new Set(verdicts)).toEqual(new Set(['count']));
  expect(probes()).toBeLessThanOrEqual(10);
  expect(probes()).toBeGreaterThan(5);
});

test('a clock that is set back drops nothing and loses nothing', async () => {
  let nowMs = 1_800_000_000_000;
  const network = new Connectivity({
    probe: async () => false,
    nowMs: () => nowMs,
    onLost() {},
    onBack() {},
  });
  for (const host of hosts(6)) await network.judge(host, refused);
  await network.judge('0.example', good);
  expect(network.lost).toBe(false);
  nowMs -= 3_600_000;
  expect(await network.judge('1.example', failure('timeout', 10_000))).toBe('count');
});
