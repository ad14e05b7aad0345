import { expect } from 'vitest';
import { CHANNEL, type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
export type Fields = Record<string, unknown>;

/** Calls a method as an app does; gives the HTTP status, what Slack says, and after how many seconds it may come again. */
export async function call(
  fake: SlackFake,
  method: string,
  fields: Fields = {},
  token = fake.botToken,
) {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    body.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(fake.apiUrl + method, { method: 'POST', headers, body });
  const text = await response.text();
  return {
    status: response.status,
    retryAfter: Number(response.headers.get('retry-after') ?? Number.NaN),
    ...(text === '' ? {} : JSON.parse(text)),
  };
}

/** Posts a message. */
export const post = (fake: SlackFake, channel = CHANNEL) =>
  call(fake, 'chat.postMessage', { channel, text: 'hello' });

/** Calls until it is refused; gives how many were taken, and the refusal. */
export async function untilRefused(act: () => ReturnType<typeof call>) {
  for (let taken = 0; ; taken += 1) {
    const answer = await act();
    if (answer.status !== 200) return { taken, ...answer };
    if (taken > 1_000) throw new Error('There is no limit.');
  }
}

/** A workspace takes so many calls of a method in a minute, and one more once the first is a minute old. */
export async function takesAMinute(method: string, most: number): Promise<void> {
  const fake = await startSlack();
  fake.clock.set(0);
  const channels = ['A', 'B'].map((name) => fake.addChannel({ id: `C00${name}` }).id);
  const fields = { ts: '1.000001', user: 'U00ADA', usergroup: 'S00OPS', text: 'a' };
  let at = 0;
  const act = () => call(fake, method, { ...fields, channel: channels[at++ % 2] });
  expect(await untilRefused(act)).toMatchObject({ taken: most, status: 429, retryAfter: 60 });
  fake.clock.advance(59_999);
  expect(await act()).toMatchObject({ status: 429, retryAfter: 1 });
  fake.clock.advance(1);
  expect((await act()).status).toBe(200);
  // Another method has a minute of its own.
  expect((await call(fake, 'auth.test')).ok).toBe(true);
}
