import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createUsageLedger } from '../../src/gateway/usage/ledger.ts';
import { createServer } from '../../src/http/server.ts';
import { eventually } from '../helpers/eventually.ts';
import { startWithProviders } from '../helpers/gateway/running-gateway.ts';
import { keyWith } from '../helpers/gateway/usage-ledger.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { openTestStore } from '../helpers/test-store.ts';

const messages = [{ role: 'user', content: 'Is this in the log?' }];

/** The gateway's series and their values, but for the buckets. */
async function seriesOf(kit: Awaited<ReturnType<typeof createServer>>) {
  const { body } = await kit.server.inject('/metrics');
  const lines = body.match(/^askwatch_gateway_\S+ \S+$/gm) ?? [];
  return Object.fromEntries(
    lines
      .map((line) => line.replace('askwatch_gateway_', '').split(' ') as [string, string])
      .map(([name, value]) => [name, Number(value)]),
  );
}

describe('the metrics', () => {
  test('tell how long requests took and when their first text came, by model and end', async () => {
    const { log } = recordingLog();
    const kit = await createServer({ log, version: '0' });
    let nowMs = 0;
    const clocks = { unixMs: () => nowMs, steadyMs: () => nowMs };
    const ledger = await createUsageLedger({ metrics: kit.metrics, log, clocks });
    for (const takesMs of [300, 20_000]) {
      const meter = ledger.open(keyWith());
      meter.model = 'one';
      nowMs += 200;
      meter.addAnswer(3);
      nowMs += takesMs - 200;
      meter.usage = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };
      meter.end('complete');
      meter.end('client_gone');
    }
    const left = ledger.open(keyWith());
    left.model = 'one';
    left.end('client_gone');
    // The caller may be gone before its answer is begun.
    left.startStream();
    const streamed = ledger.open(keyWith());
    streamed.startStream();
    streamed.startStream();
    streamed.end('refused');
    const series = await seriesOf(kit);
    expect(series).toMatchObject({
      'requests_total{model="one",end="complete"}': 2,
      'requests_total{model="one",end="client_gone"}': 1,
      'requests_total{model="unknown",end="refused"}': 1,
      'tokens_total{model="one",of="prompt"}': 10,
      'tokens_total{model="one",of="answer"}': 14,
      'request_seconds_bucket{le="0.25",model="one",end="complete"}': 0,
      'request_seconds_bucket{le="0.5",model="one",end="complete"}': 1,
      'request_seconds_bucket{le="10",model="one",end="complete"}': 1,
      'request_seconds_bucket{le="30",model="one",end="complete"}': 2,
      'request_seconds_sum{model="one",end="complete"}': 20.3,
      'request_seconds_count{model="unknown",end="refused"}': 1,
      'first_token_seconds_bucket{le="0.1",model="one",end="complete"}': 0,
      'first_token_seconds_bucket{le="0.25",model="one",end="complete"}': 2,
      'first_token_seconds_count{model="one",end="complete"}': 2,
      requests_under_way: 0,
      streams_under_way: 0,
    });
    expect(Object.keys(series).join()).not.toContain('first_token_seconds_count{model="unknown"');
    await ledger.close();
  });

  test('tell what is under way, streams apart', async () => {
    const { kit, post, openai, usage } = await startWithProviders();
    const release = openai.holdChunks(1);
    const streamed = post({ model: 'one', messages, stream: true });
    await eventually(async () => (await seriesOf(kit)).streams_under_way === 1);
    expect((await seriesOf(kit)).requests_under_way).toBe(1);
    release();
    await streamed;
    await post({ model: 'none', messages, stream: true });
    await usage(2);
    expect(await seriesOf(kit)).toMatchObject({ requests_under_way: 0, streams_under_way: 0 });
  });

  test('tell how many usage records the disk does not take', async () => {
    const { log } = recordingLog();
    const kit = await createServer({ log, version: '0' });
    const folder = await temporaryFolder();
    const store = await openTestStore({ folder, log });
    const ledger = await createUsageLedger({ store, metrics: kit.metrics, log });
    // A file in the place of the journal's folder refuses every write, as a full disk does.
    const path = join(folder, 'gateway-usage');
    await rm(path, { recursive: true, force: true });
    await writeFile(path, '');
    for (const _ of [1, 2, 3]) ledger.open(keyWith()).end('complete');
    expect((await seriesOf(kit)).usage_waiting).toBe(3);
    await rm(path);
    await eventually(async () => (await seriesOf(kit)).usage_waiting === 0);
    await ledger.close();
    await store.close();
  });
});

describe('the log', () => {
  test('has a line for each call with who, what and how long, and nothing that was said', async () => {
    const { post, openai, key, keyId, logged, usage } = await startWithProviders();
    openai.answerWith('Secret words.');
    const whole = await post({ model: 'one', messages });
    await post({ model: 'one', messages, stream: true });
    await post({ model: 'nobody knows this model', messages });
    await post({ model: 'one', messages }, { authorization: 'Bearer wrong' });
    openai.failWith({ kind: 'cut', afterChunks: 1 }, 1);
    await post({ model: 'one', messages, stream: true }).catch(() => {});
    await usage(4);
    const answered = await eventually(() => {
      const lines = logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'answered');
      return lines.length === 5 && lines;
    });
    const answer = {
      method: 'POST',
      route: '/v1/chat/completions',
      status: 200,
      ms: expect.any(Number),
      key: keyId,
      model: 'one',
      upstream: 'openai/test-model',
      end: 'complete',
      firstTokenMs: expect.any(Number),
      promptTokens: expect.any(Number),
      completionTokens: expect.any(Number),
      estimated: false,
    };
    expect(answered[0]).toMatchObject({ ...answer, reqId: whole.headers.get('x-request-id') });
    expect(answered[1]).toMatchObject(answer);
    expect(answered[2]).toMatchObject({ status: 404, key: keyId, end: 'refused' });
    expect(answered[3]).toMatchObject({ status: 401 });
    expect(answered[3]).not.toHaveProperty('end');
    expect(answered[4]).toMatchObject({ ...answer, end: 'upstream_error', estimated: true });
    const text = logged.join('');
    for (const secret of ['in the log', 'Secret', 'nobody knows', key, openai.apiKey]) {
      expect(text).not.toContain(secret);
    }
  });

  test('says of a caller that left before its answer that nothing was sent', async () => {
    const { url, key, openai, logged } = await startWithProviders();
    openai.failWith({ kind: 'hang-before-headers' }, 1);
    const left = new AbortController();
    const asking = fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'one', messages }),
      signal: left.signal,
    });
    asking.catch(() => {});
    await eventually(() => openai.calls.length === 1);
    left.abort();
    const line = await eventually(() => logged.find((line) => line.includes('"answered"')));
    expect(JSON.parse(line)).toMatchObject({ status: 499, end: 'client_gone', estimated: true });
  });
});
