import { webApi } from '@slack/bolt';
import { expect, onTestFinished, test } from 'vitest';
import { EditPace } from '../../../src/slack/api/edit-pace.ts';
import { SendQueue } from '../../../src/slack/api/send-queue.ts';
import { eventually } from '../../helpers/eventually.ts';

const CALL = { method: 'chat.postMessage', channel: 'C1' };

const queueOf = (paceMs: number) => {
  const pace = new EditPace({ editMs: 1_300 });
  return new SendQueue({ paceMs, edits: pace, removals: pace });
};

/** Fails with these errors in turn, then gives `done`. */
function failing(...errors: Error[]) {
  const run = async () => {
    run.times += 1;
    const error = errors.shift();
    if (error) throw error;
    return 'done';
  };
  run.times = 0;
  return run;
}

const down = () => new webApi.WebAPIHTTPError(503, 'Unavailable', {});
const limited = (seconds: number) => new webApi.WebAPIRateLimitedError(seconds);

test('a channel’s messages go out in order and at its pace, whatever becomes of each', async () => {
  const queue = queueOf(60);
  const startedMs: number[] = [];
  const sends = [1, 2, 3].map((n) =>
    queue.inOrder('C1', async () => {
      startedMs.push(performance.now());
      if (n === 1) throw down();
      return n;
    }),
  );
  expect((await Promise.allSettled(sends)).map(({ status }) => status)).toEqual([
    'rejected',
    'fulfilled',
    'fulfilled',
  ]);
  // A timer of Node may fire one millisecond early.
  const gaps = startedMs.slice(1).map((atMs, index) => atMs - (startedMs[index] ?? 0));
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(59);
});

test('what can be repeated is repeated while Slack fails, and not for ever', async () => {
  const queue = queueOf(0);
  const soon = failing(down());
  expect(await queue.patiently({ ...CALL, run: soon, repeatable: true })).toBe('done');
  const post = failing(down());
  await expect(queue.patiently({ ...CALL, run: post })).rejects.toThrow();
  expect([soon.times, post.times]).toEqual([2, 1]);
});

test('a limit is waited out by patient calls of that channel only', async () => {
  const queue = queueOf(0);
  const run = failing(limited(0.2), limited(0.1));
  const startMs = performance.now();
  const patient = queue.patiently({ ...CALL, run });
  const here = () => queue.once({ ...CALL, run: failing() }).catch(() => 'refused');
  await eventually(async () => (await here()) === 'refused');
  expect(await queue.once({ ...CALL, channel: 'C2', run: failing() })).toBe('done');
  expect(await patient).toBe('done');
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(300);
});

test('those that a limit holds up are tried one at a time, in their order', async () => {
  const queue = queueOf(0);
  const taken: number[] = [];
  let attempts = 0;
  let freeAtMs = 0;
  const run = async (number: number) => {
    attempts += 1;
    if (performance.now() < freeAtMs) throw limited((freeAtMs - performance.now()) / 1000);
    freeAtMs = performance.now() + 20;
    taken.push(number);
  };
  const numbers = Array.from({ length: 30 }, (_, number) => number);
  await run(-1);
  const post = (number: number) => queue.patiently({ ...CALL, run: () => run(number) });
  await Promise.all(numbers.map(post));
  expect(taken).toEqual([-1, ...numbers]);
  // All of them meet the first limit; then each is refused once before it is taken, or by a timer that is early.
  expect(attempts).toBeLessThan(5 * numbers.length);
});

test('a limit too long to wait for is told at once', async () => {
  const queue = queueOf(0);
  const run = failing(limited(3_600));
  await expect(queue.patiently({ ...CALL, run, repeatable: true })).rejects.toThrow();
  await expect(queue.once({ ...CALL, run: failing() })).rejects.toMatchObject({
    name: 'DeliveryError',
    permanent: false,
  });
});

test('however many channels wait, Node warns of nothing', async () => {
  const queue = queueOf(0);
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const posts = Array.from({ length: 50 }, (_, at) =>
    queue.patiently({ ...CALL, channel: `C${at}`, run: failing(limited(0.05)) }),
  );
  await Promise.all(posts);
  expect(warnings).toEqual([]);
});

test('closing ends all waiting', async () => {
  const queue = queueOf(0);
  const waiting = queue.patiently({ ...CALL, run: failing(limited(60)) });
  queue.close();
  await expect(waiting).rejects.toThrow();
});
