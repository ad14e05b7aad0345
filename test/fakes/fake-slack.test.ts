import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../helpers/eventually.ts';
import { long } from '../helpers/long.ts';
import {
  call,
  type Fields,
  post,
  takesAMinute,
  untilRefused,
} from '../helpers/slack/calls-of-an-app.ts';
import { CHANNEL, startSlack } from './slack/slack.ts';

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
    ['chat.startStream', 20],
    ['chat.appendStream', 100],
    ['chat.stopStream', 20],
    ['agents.sessions.setStatus', 50],
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

  test('what a distributed app reads: fifteen messages, once a minute', async () => {
    const fake = await startSlack(undefined, { distributed: true });
    for (let said = 0; said < 20; said += 1)
      fake.channel(CHANNEL).messages.push({ ts: `${said + 1}.000001`, text: 'x', edits: 0 });
    const read = { channel: CHANNEL, limit: 200 };
    const { messages, response_metadata: more } = await call(fake, 'conversations.history', read);
    expect(messages).toHaveLength(15);
    expect(more.next_cursor).not.toBe('');
    expect(await call(fake, 'conversations.history', read)).toMatchObject({ status: 429 });
  });

  test('the fake’s clock runs faster by the factor of the program’s paces', async () => {
    const fake = await startSlack();
    fake.clock.run(1e9);
    const edit = () => call(fake, 'chat.update', { channel: CHANNEL, ts: '1.000001', text: 'a' });
    for (let at = 0; at < 60; at += 1) expect((await edit()).status).toBe(200);
  });
});

/** Starts an app that gets events over HTTP and responds with `answers` in turn, then 200. */
async function startApp(...answers: (number | 'never')[]) {
  const fake = await startSlack();
  fake.clock.set(0);
  const heard: { body: URLSearchParams; retry: string | undefined; reason: string | undefined }[] =
    [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { 'x-slack-retry-num': retry, 'x-slack-retry-reason': reason } = request.headers;
      heard.push({
        body: new URLSearchParams(body),
        retry: retry?.toString(),
        reason: reason?.toString(),
      });
      const answer = answers.shift() ?? 200;
      if (answer !== 'never') response.writeHead(answer).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  fake.useHttp(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return { fake, heard };
}

describe('the fake waits for no app', () => {
  test('an event that is not acknowledged within three seconds comes again: at once, in a minute, in five', async () => {
    const { fake, heard } = await startApp('never', 500, 503, 500);
    const { ms } = await fake.event({ type: 'message' });
    expect(ms).toBeUndefined();
    for (const [times, passedMs] of [
      [2, 59_999],
      [2, 1],
      [3, 299_999],
      [3, 1],
    ] as const) {
      await eventually(() => fake.acks.length === times);
      fake.clock.advance(passedMs);
    }
    await eventually(() => fake.acks.length === 4);
    fake.clock.advance(3_600_000);
    expect(heard.map(({ retry }) => retry)).toEqual([undefined, '1', '2', '3']);
    expect(heard.map(({ reason }) => reason)).toEqual([
      undefined,
      'http_timeout',
      'http_error',
      'http_error',
    ]);
  });

  test('a command comes once', async () => {
    const { fake, heard } = await startApp(500);
    await fake.slash('/ask', 'hello');
    fake.clock.advance(3_600_000);
    await fake.event({ type: 'message' });
    expect(heard).toHaveLength(2);
  });

  test('what a gesture gives is good for one form within three seconds, and five answers within half an hour', async () => {
    const { fake, heard } = await startApp();
    const view = {
      type: 'modal',
      title: { type: 'plain_text', text: 'a' },
      submit: { type: 'plain_text', text: 'b' },
      blocks: [],
    };
    const open = async (at: number) =>
      (await call(fake, 'views.open', { trigger_id: heard[at]?.body.get('trigger_id'), view }))
        .error;
    const respond = async (at: number) => {
      const url = heard[at]?.body.get('response_url') ?? '';
      const headers = { 'content-type': 'application/json' };
      return await (await fetch(url, { method: 'POST', headers, body: '{"text":"a"}' })).text();
    };
    for (let typed = 0; typed < 2; typed += 1) await fake.slash('/ask', 'hello');
    expect(await open(0)).toBeUndefined();
    expect(await open(0)).toBe('exchanged_trigger_id');
    fake.expireTriggers();
    expect(await open(1)).toBe('expired_trigger_id');
    for (let use = 0; use < 5; use += 1) expect(await respond(0)).toBe('"ok"');
    expect(await respond(0)).toBe('"used_url"');
    fake.clock.advance(30 * 60_000 + 1);
    expect(await respond(1)).toBe('"expired_url"');
  });

  test('each of several connections receives its share of events', async () => {
    const fake = await startSlack();
    const heard = [0, 0];
    for (const at of [0, 1]) {
      const { url } = await call(fake, 'apps.connections.open', {}, fake.appToken);
      const socket = new WebSocket(url);
      onTestFinished(() => socket.terminate());
      socket.on('message', (data) => {
        const { envelope_id } = JSON.parse(String(data));
        if (envelope_id === undefined) return;
        heard[at] = (heard[at] ?? 0) + 1;
        socket.send(JSON.stringify({ envelope_id }));
      });
      await eventually(() => fake.sockets() === at + 1);
    }
    for (let event = 0; event < 6; event += 1) await fake.event({ type: 'message' });
    expect(heard).toEqual([3, 3]);
  });
});
