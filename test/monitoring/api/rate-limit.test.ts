import { expect, test } from 'vitest';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const MONITORS = '/api/v1/public/monitors';
const LIMIT = 120;
const WINDOW_MS = 60_000;

test('requests without a valid key have a limit by address, which takes nothing from requests with one', async () => {
  const clock = createFakeClock();
  const { call } = await startService({ clock });
  const statuses: number[] = [];
  const limits = new Set<unknown>();
  for (let n = 0; n < 130; n += 1) {
    const key = n % 2 === 0 ? null : `awm_${n}`;
    const { status, headers } = await call('GET', MONITORS, { key });
    statuses.push(status);
    limits.add(headers['x-ratelimit-limit']);
  }
  expect([...limits]).toEqual(['60']);
  // After 60 failures, callers only learn how long to wait.
  expect(statuses.filter((status) => status === 401)).toHaveLength(60);
  expect(statuses.slice(60).every((status) => status === 429)).toBe(true);
  // An unknown push token is a wrong key as well.
  expect((await call('POST', '/api/v1/public/push/unknown', { key: null })).status).toBe(429);
  const good = await call('GET', MONITORS);
  expect(good.status).toBe(200);
  expect(good.headers['x-ratelimit-remaining']).toBe('119');
});

test('guessing push tokens is limited by address, and known ones go on', async () => {
  const clock = createFakeClock();
  const { call, create } = await startService({ clock });
  const { push_url = '' } = await create({ name: 'x', target: 'x', check_type: 'HEARTBEAT' });
  const push = new URL(push_url).pathname;
  const guess = async (n: number) =>
    (await call('POST', `/api/v1/public/push/guess-${n}/start`, { key: null })).status;
  for (let n = 0; n < LIMIT; n += 1) expect(await guess(n)).toBe(404);
  expect(await guess(LIMIT)).toBe(429);
  expect((await call('POST', push, { key: null })).status).toBe(200);
  await clock.advance(WINDOW_MS);
  expect(await guess(0)).toBe(404);
});

test('two different keys in one request are refused, and count for neither', async () => {
  const { call, key, createKey } = await startService();
  const other = await createKey();
  const answer = await call('GET', MONITORS, { headers: { authorization: `Bearer ${other}` } });
  expect(answer.status).toBe(401);
  expect(answer.body.error?.code).toBe('conflicting_api_keys');
  for (const one of [key, other]) {
    const { headers } = await call('GET', MONITORS, { key: one });
    expect(headers['x-ratelimit-remaining']).toBe('119');
  }
});

test('the program’s own key is not refused where another one is', async () => {
  const { call, createKey, keys } = await startService({ clock: createFakeClock() });
  const key = keys.createTransient('bot');
  const statuses = async (of: string) => {
    const answers = await Promise.all(
      Array.from({ length: LIMIT + 1 }, () => call('GET', MONITORS, { key: of })),
    );
    return answers.filter(({ status }) => status === 429).length;
  };
  expect(await statuses(await createKey())).toBe(1);
  expect(await statuses(key)).toBe(0);
});
