import '../support/property-seed.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHANNEL, startSlack } from '../fakes/slack.ts';
import { long } from '../support/long.ts';
import { call, type Fields, post, takesAMinute, untilRefused } from './calls-of-an-app.ts';

describe('the fake refuses', () => {
  test.each<[string, Fields, string]>([
    ['chat.postMesage', { channel: CHANNEL }, 'unknown_method'],
    ['chat.delete', { channel: CHANNEL, ts: '1.000001' }, 'message_not_found'],
    ['chat.delete', { channel: CHANNEL }, 'invalid_arguments'],
    ['constructor', {}, 'unknown_method'],
    ['chat.postMessage', { text: 'hello' }, 'invalid_arguments'],
    ['chat.postMessage', { channel: '', text: 'hello' }, 'invalid_arguments'],
    ['chat.postMessage', { channel: '#general', text: 'hello' }, 'invalid_arguments'],
    ['chat.postMessage', { channel: 'C00NOWHERE', text: 'hello' }, 'channel_not_found'],
    ['chat.postMessage', { channel: CHANNEL }, 'no_text'],
    ['chat.postMessage', { channel: CHANNEL, text: 'a', thread_ts: 'now' }, 'invalid_arguments'],
    [
      'chat.postMessage',
      { channel: CHANNEL, text: 'a', thread_ts: '1.000001' },
      'thread_not_found',
    ],
    ['chat.postMessage', { channel: CHANNEL, text: 'a', blocks: 'no JSON' }, 'invalid_arguments'],
    ['chat.postMessage', { channel: CHANNEL, text: 'a', blocks: [null] }, 'invalid_blocks'],
    ['chat.postMessage', { channel: CHANNEL, text: 'a', unfurl_links: 'no' }, 'invalid_arguments'],
    ['chat.postMessage', { channel: CHANNEL, text: 'a', metadata: [1] }, 'invalid_arguments'],
    ['chat.postMessage', { channel: CHANNEL, text: 'a', metadata: {} }, 'invalid_metadata_format'],
    ['chat.update', { channel: CHANNEL, text: 'a' }, 'invalid_arguments'],
    ['chat.update', { channel: CHANNEL, text: 'a', ts: '17' }, 'invalid_arguments'],
    ['chat.update', { channel: CHANNEL, text: 'a', ts: '1.000001' }, 'message_not_found'],
    ['chat.postEphemeral', { channel: CHANNEL, text: 'a' }, 'invalid_arguments'],
    ['chat.postEphemeral', { channel: CHANNEL, text: 'a', user: 'ada' }, 'invalid_arguments'],
    ['conversations.history', {}, 'invalid_arguments'],
    ['conversations.history', { channel: CHANNEL, limit: 'all' }, 'invalid_arguments'],
    ['conversations.history', { channel: CHANNEL, limit: 1_000 }, 'invalid_limit'],
    ['conversations.history', { channel: CHANNEL, oldest: 'monday' }, 'invalid_arguments'],
    ['conversations.replies', { channel: CHANNEL }, 'invalid_arguments'],
    ['conversations.replies', { channel: CHANNEL, ts: '1.000001' }, 'thread_not_found'],
    ['users.info', {}, 'invalid_arguments'],
    ['users.info', { user: 'ada' }, 'invalid_arguments'],
    ['usergroups.users.list', { usergroup: 'S00OPS' }, 'missing_scope'],
    ['usergroups.users.list', { usergroup: 'ops' }, 'invalid_arguments'],
    ['views.open', { view: {} }, 'invalid_arguments'],
    ['views.open', { trigger_id: '1.2.3', view: { title: 1 } }, 'invalid_arguments'],
    ['views.update', { view_id: 'V1' }, 'invalid_arguments'],
  ])('%s with %j: %s', async (method, fields, error) => {
    const fake = await startSlack();
    expect(await call(fake, method, fields)).toMatchObject({ ok: false, error });
    expect(fake.calls.map(({ applied }) => applied)).toEqual([false]);
    expect(fake.unhandled).toEqual(error === 'unknown_method' ? [method] : []);
  });

  test('whoever has no token, a wrong one, or one of another kind', async () => {
    const fake = await startSlack();
    const refusal = async (token: string) => (await call(fake, 'auth.test', {}, token)).error;
    expect(await refusal('')).toBe('not_authed');
    expect(await refusal('xoxb-other')).toBe('invalid_auth');
    expect(await refusal(fake.appToken)).toBe('not_allowed_token_type');
  });

  test('any nonsense in place of blocks and metadata, and survives it', async () => {
    const fake = await startSlack(undefined, { limits: false });
    const block = fc.oneof(
      fc.jsonValue(),
      fc.record({
        type: fc.constantFrom('actions', 'context', 'header', 'rich_text', 'section', 'table'),
        text: fc.jsonValue(),
        elements: fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())),
        rows: fc.jsonValue(),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(block, { minLength: 1 }), async (blocks) => {
        const answer = await call(fake, 'chat.postMessage', { channel: CHANNEL, blocks });
        expect([answer.status, answer.ok]).toEqual([200, false]);
      }),
      { numRuns: long ? 200 : 30 },
    );
  });
});

describe('the fake counts', () => {
  test.each([
    ['chat.update', 50],
    ['chat.delete', 50],
    ['usergroups.users.list', 20],
  ])('%s: %d a minute, wherever they are', takesAMinute);

  test('a minute that slides: what came late in it frees its place as late', async () => {
    const fake = await startSlack();
    fake.clock.set(0);
    const edit = () => call(fake, 'chat.update', { channel: CHANNEL, ts: '1.000001', text: 'a' });
    for (let at = 0; at < 25; at += 1) await edit();
    fake.clock.advance(40_000);
    expect(await untilRefused(edit)).toMatchObject({ taken: 25, retryAfter: 20 });
    fake.clock.advance(20_000);
    expect(await untilRefused(edit)).toMatchObject({ taken: 25, retryAfter: 40 });
  });

  test('posts: one a second in a channel after a short burst', async () => {
    const fake = await startSlack();
    fake.addChannel({ id: 'C00OTHER' });
    fake.clock.set(0);
    expect(await untilRefused(() => post(fake))).toMatchObject({ taken: 5, retryAfter: 1 });
    expect((await post(fake, 'C00OTHER')).ok).toBe(true);
    for (let second = 0; second < 3; second += 1) {
      fake.clock.advance(1_000);
      expect(await untilRefused(() => post(fake))).toMatchObject({ taken: 1, retryAfter: 1 });
    }
    fake.clock.advance(60_000);
    expect((await untilRefused(() => post(fake))).taken).toBe(5);
  });

  test('with a clock that runs as much faster as a program’s paces', async () => {
    const fake = await startSlack();
    fake.clock.run(1e9);
    const edit = () => call(fake, 'chat.update', { channel: CHANNEL, ts: '1.000001', text: 'a' });
    for (let at = 0; at < 60; at += 1) expect((await edit()).status).toBe(200);
  });
});
