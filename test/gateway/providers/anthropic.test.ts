import OpenAI from 'openai';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { GatewayTimes } from '../../../src/gateway/gateway.ts';
import { startAnthropic } from '../../fakes/anthropic.ts';
import { eventually } from '../../helpers/eventually.ts';
import {
  NO_OLLAMA,
  readStream,
  startFake,
  startGateway,
  textModel,
} from '../../helpers/gateway/running-gateway.ts';
import { longOnly } from '../../helpers/long-only.ts';

const messages = [{ role: 'user' as const, content: 'Why is the sky blue?' }];

/** A gateway over the Messages API, and over a provider that is asked when that one fails. */
async function startClaude(
  options: { model?: string; apiKey?: string; times?: Partial<GatewayTimes> } = {},
) {
  const { model = 'claude-haiku-4-5', times = {} } = options;
  const api = await startAnthropic({ models: [model] });
  const second = await startFake();
  onTestFinished(() => api.close());
  const claude: [string, string] = ['anthropic', model];
  const shared = { context_length: 200_000 };
  const gateway = await startGateway({
    catalog: {
      models: [
        { ...textModel('claude', claude), ...shared, input: ['text', 'image'] },
        { ...textModel('either', claude, 'openai'), ...shared },
      ],
    },
    providers: {
      ...NO_OLLAMA,
      anthropic: { apiKey: options.apiKey ?? api.apiKey, baseUrl: `${api.url}/v1` },
      openai: { apiKey: second.apiKey, baseUrl: `${second.url}/v1` },
    },
    times,
  });
  return { ...gateway, api, second, ask: gateway.client.chat.completions };
}

describe('the Messages API behind the gateway', () => {
  test.each([
    'claude-haiku-4-5',
    'claude-opus-5-5',
    'claude-not-known-yet',
    ...longOnly([
      'claude-3-haiku-20240307',
      'claude-opus-4-1',
      'claude-sonnet-4-6',
      'claude-opus-4-8',
      'claude-sonnet-5',
      'claude-opus-5',
      'claude-haiku-5-5',
      'claude-fable-5-1',
    ]),
  ])('takes every parameter of the contract, whole and streamed: %s', async (model) => {
    const { ask, api } = await startClaude({ model });
    api.answerWith('one two three');
    for (const temperature of [0, 0.7, 1, 2]) {
      const request = {
        model: 'claude',
        messages: [
          { role: 'assistant' as const, content: 'Ask me.' },
          { role: 'system' as const, content: 'Be short.' },
          ...messages,
          { role: 'user' as const, content: ' ' },
          { role: 'assistant' as const, content: 'At noon?' },
        ],
        temperature,
        max_tokens: 50,
        top_p: 0.9,
        n: 1,
        stop: ['###', '\n\n'],
        presence_penalty: 0.5,
        frequency_penalty: -0.5,
        seed: 7,
        user: 'U1',
      };
      const whole = await ask.create(request);
      expect(whole).toMatchObject({
        object: 'chat.completion',
        model: 'claude',
        id: expect.stringMatching(/^msg_fake\d$/),
      });
      expect(whole.choices).toEqual([
        {
          index: 0,
          message: { role: 'assistant', content: 'one two three' },
          finish_reason: 'stop',
        },
      ]);
      const { chunks, text, error } = await readStream(
        await ask.create({ ...request, stream: true }),
      );
      expect([text, error]).toEqual(['one two three', undefined]);
      expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
      expect(chunks.at(-1)?.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'stop' }]);
      expect(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size).toBe(1);
    }
    expect(api.refusals).toEqual([]);
    expect(api.calls).toHaveLength(8);
  });

  test('is called in its own request format', async () => {
    const { ask, api } = await startClaude();
    await ask.create({
      model: 'claude',
      messages: [
        { role: 'system', content: 'Be short.' },
        ...messages,
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: [{ type: 'text', text: 'And at noon?' }], name: 'ann' },
        { role: 'assistant', content: 'Blue.' },
        { role: 'user', content: 'Sure?' },
      ],
      temperature: 1.7,
      top_p: 0.3,
      max_tokens: 99,
      stop: ['###', '\n'],
      user: 'U1',
      reasoning_effort: 'low',
      service_tier: 'auto',
    });
    const text = (said: string) => ({ type: 'text', text: said });
    expect(api.calls[0]?.body).toEqual({
      model: 'claude-haiku-4-5',
      max_tokens: 99,
      system: [text('Be short.'), text('Be kind.')],
      messages: [
        { role: 'user', content: [text('Why is the sky blue?'), text('And at noon?')] },
        { role: 'assistant', content: [text('Blue.')] },
        { role: 'user', content: [text('Sure?')] },
      ],
      temperature: 1,
      stop_sequences: ['###'],
      metadata: { user_id: 'U1' },
      cache_control: { type: 'ephemeral' },
    });
    expect(api.calls[0]?.headers).toMatchObject({
      'x-api-key': api.apiKey,
      'anthropic-version': '2023-06-01',
    });
    expect(api.calls[0]?.headers).not.toHaveProperty('authorization');
  });

  test('is asked for no more tokens than the model can answer with', async () => {
    const { post, api } = await startClaude();
    for (const max_tokens of [1, 64_000, 150_000])
      await post({ model: 'claude', messages, max_tokens });
    expect(api.calls.map(({ body }) => body.max_tokens)).toEqual([1, 64_000, 64_000]);
    expect(api.refusals).toEqual([]);
  });

  test.each<[string, boolean]>([
    ['claude-opus-4-6', true],
    ['claude-opus-4-7', false],
    ...longOnly<[string, boolean]>([
      ['claude-3-haiku-20240307', true],
      ['claude-opus-4-20250514', true],
      ['claude-opus-4-1', true],
      ['claude-sonnet-4-5-20250929', true],
      ['claude-haiku-4-5', true],
      ['claude-sonnet-4-6', true],
      ['claude-sonnet-5', false],
      ['claude-haiku-5-5', false],
    ]),
  ])(
    'is given the temperature or top_p, whichever says something, where it takes them: %s',
    async (model, takes) => {
      const { post, api } = await startClaude({ model });
      for (const more of [
        { temperature: 1, top_p: 0.5 },
        { temperature: 0.2, top_p: 0.5 },
        { temperature: 1 },
        { top_p: 0.5 },
        {},
      ]) {
        await post({ model: 'claude', messages, ...more });
      }
      const sent = api.calls.map(({ body }) => [body.temperature, body.top_p]);
      const told = [
        [undefined, 0.5],
        [0.2, undefined],
        [1, undefined],
        [undefined, 0.5],
        [undefined, undefined],
      ];
      expect(sent).toEqual(takes ? told : told.map(() => [undefined, undefined]));
    },
  );

  test('thinks only when the caller asks for it, and the thinking is not passed on', async () => {
    const { post, api } = await startClaude({ model: 'claude-haiku-5-5' });
    api.answerWith({
      blocks: [
        { type: 'thinking', thinking: 'hm', signature: 'abc' },
        { type: 'text', text: 'Blue.' },
      ],
    });
    const thinking = { type: 'adaptive' };
    const bodies = [{}, { stream: true }, { thinking }, { thinking, stream: true }];
    for (const more of bodies) {
      const answer = await post({ model: 'claude', messages, ...more });
      expect(answer.text).toContain('Blue.');
      expect(answer.text).not.toContain('hm');
    }
    expect(api.calls.map(({ body }) => body.thinking)).toEqual([
      { type: 'disabled' },
      { type: 'disabled' },
      thinking,
      thinking,
    ]);
    expect(api.calls[0]?.body.max_tokens).toBe(16_384);
  });

  test('caches a conversation that goes on, and the usage counts the cached tokens', async () => {
    const { ask, post, api } = await startClaude();
    const usage = { cache_creation_input_tokens: 100, cache_read_input_tokens: 2000 };
    api.answerWith({ blocks: [{ type: 'text', text: 'Yes.' }], usage });
    const goesOn = [
      ...messages,
      { role: 'assistant' as const, content: 'Scattering.' },
      { role: 'user' as const, content: 'Sure?' },
    ];
    const told = {
      prompt_tokens: 2111,
      completion_tokens: 5,
      total_tokens: 2116,
      prompt_tokens_details: { cached_tokens: 2000 },
    };
    expect((await ask.create({ model: 'claude', messages: goesOn })).usage).toEqual(told);
    const streamed = await ask.create({
      model: 'claude',
      messages: goesOn,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect((await readStream(streamed)).chunks.at(-1)).toMatchObject({ choices: [], usage: told });

    await ask.create({ model: 'claude', messages });
    const marked = { type: 'text', text: 'Long.', cache_control: { type: 'ephemeral' } };
    const own = [{ role: 'user', content: [marked] }, ...goesOn.slice(1)];
    await post({ model: 'claude', messages: own });
    await post({
      model: 'claude',
      messages: goesOn,
      cache_control: { type: 'ephemeral', ttl: '1h' },
    });
    expect(api.calls.map(({ body }) => body.cache_control)).toEqual([
      { type: 'ephemeral' },
      { type: 'ephemeral' },
      undefined,
      undefined,
      { type: 'ephemeral', ttl: '1h' },
    ]);
    expect(api.calls[3]?.body.messages[0].content).toEqual([marked]);
    expect(api.refusals).toEqual([]);
  });

  test('takes pictures, and those it cannot take are refused before the call', async () => {
    const { post, api } = await startClaude();
    const look = (url: string) =>
      post({
        model: 'claude',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url, detail: 'low' } },
            ],
          },
        ],
      });
    const data = 'A'.repeat(1000);
    for (const url of [
      `data:image/png;base64,${data}`,
      `DATA:image/JPG;charset=utf-8;base64,${data}`,
      'https://example.com/cat.webp',
      'http://example.com/cat.webp',
    ]) {
      expect((await look(url)).status).toBe(200);
    }
    expect(api.calls.map(({ body }) => body.messages[0].content[1].source)).toEqual([
      { type: 'base64', media_type: 'image/png', data },
      { type: 'base64', media_type: 'image/jpeg', data },
      { type: 'url', url: 'https://example.com/cat.webp' },
      { type: 'url', url: 'http://example.com/cat.webp' },
    ]);
    for (const url of ['data:image/svg+xml;base64,AA', 'data:image/png,AA', 'file:///x', 'x', '']) {
      const { status, text } = await look(url);
      expect([status, JSON.parse(text).error]).toEqual([
        400,
        expect.objectContaining({
          param: 'messages.0.content.1.image_url.url',
          message: expect.stringContaining('JPEG, PNG, GIF or WebP'),
        }),
      ]);
    }
    expect(api.calls).toHaveLength(4);
    expect(api.refusals).toEqual([]);
  });

  test.each([
    { logprobs: true },
    ...longOnly([
      { top_logprobs: 2 },
      { logit_bias: { 50256: -100 } },
      { response_format: { type: 'json_object' } },
      { response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
      { modalities: ['text', 'audio'] },
      { functions: [{ name: 'f' }] },
    ]),
    { tool_choice: { type: 'odd' }, tools: [{ type: 'function', function: { name: 'f' } }] },
    { tools: [{ type: 'function' }] },
    { tools: 'f' },
  ])('is not sent a parameter that it does not have: %j', async (more) => {
    const { post, api, second } = await startClaude();
    const answer = await post({ model: 'claude', messages, ...more });
    expect(answer.status).toBe(400);
    const [param] = Object.keys(more);
    expect(JSON.parse(answer.text).error.param).toMatch(new RegExp(`^${param}`));
    expect([api.calls, api.refusals]).toEqual([[], []]);
    // Another provider of the model may have a word for it.
    const { status } = await post({ model: 'either', messages, ...more });
    expect(second.calls).toHaveLength(1);
    expect(status).toBe(second.refusals.length > 0 ? 400 : 200);
  });

  test('is called without parameters that mean nothing to it, and with those that only it knows', async () => {
    const { post, api } = await startClaude();
    const schema = { type: 'object', properties: {} };
    const answer = await post({
      model: 'claude',
      messages,
      logprobs: false,
      logit_bias: {},
      modalities: ['text'],
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
      output_config: { effort: 'low' },
      tools: [],
      tool_choice: 'auto',
      metadata: { team: 'blue' },
      top_k: 5,
      stop: null,
    });
    expect(answer.status).toBe(200);
    expect(api.calls[0]?.body).toEqual({
      model: 'claude-haiku-4-5',
      max_tokens: 16_384,
      messages: [{ role: 'user', content: [{ type: 'text', text: messages[0]?.content }] }],
      output_config: { effort: 'low', format: { type: 'json_schema', schema } },
      top_k: 5,
    });
    await post({ model: 'claude', messages, user: 'U'.repeat(257) });
    expect(api.calls[1]?.body).not.toHaveProperty('metadata');
    const unknown = await post({ model: 'claude', messages, wizardry: 1 });
    expect([unknown.status, JSON.parse(unknown.text).error.message]).toEqual([
      400,
      'wizardry: Extra inputs are not permitted',
    ]);
  });

  test('is sent a conversation that begins with the user and has no empty turns', async () => {
    const { post, api } = await startClaude();
    const user = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] });
    const assistant = (text: string) => ({ ...user(text), role: 'assistant' });
    const cases: Array<[Array<[string, string]>, unknown[]]> = [
      [[['system', 'Be short.']], [user('Begin.')]],
      [[['user', '']], [user('Begin.')]],
      [[['assistant', 'Hi.']], [user('Begin.'), assistant('Hi.'), user('Go on.')]],
      [
        [
          ['user', ' \n'],
          ['assistant', 'Hi.'],
          ['user', 'Ho.'],
        ],
        [user('Begin.'), assistant('Hi.'), user('Ho.')],
      ],
      [
        [
          ['user', 'Hi.'],
          ['assistant', ''],
        ],
        [user('Hi.')],
      ],
    ];
    for (const [given] of cases) {
      const said = given.map(([role, content]) => ({ role, content }));
      expect((await post({ model: 'claude', messages: said })).status).toBe(200);
    }
    expect(api.calls.map(({ body }) => body.messages)).toEqual(cases.map(([, sent]) => sent));
    const parts = ['', 'Hi.', ' '].map((text) => ({ type: 'text', text }));
    await post({ model: 'claude', messages: [{ role: 'user', content: parts }] });
    expect(api.calls.at(-1)?.body.messages).toEqual([user('Hi.')]);
    for (const nothing of [
      { content: '', tool_calls: [] },
      { content: null, refusal: ' ' },
    ]) {
      const messages = [
        { role: 'user', content: 'Hi.' },
        { role: 'assistant', ...nothing },
      ];
      await post({ model: 'claude', messages });
      expect(api.calls.at(-1)?.body.messages).toEqual([user('Hi.')]);
    }
    expect(api.refusals).toEqual([]);
  });

  test('is cut at stop sequences of white space by the gateway, since it does not stop there', async () => {
    const { ask, api } = await startClaude();
    api.answerWith('one\n\ntwo');
    const request = { model: 'claude', messages, stop: '\n' };
    const whole = await ask.create(request);
    expect(whole.choices[0]).toMatchObject({ message: { content: 'one' }, finish_reason: 'stop' });
    const { text, chunks } = await readStream(await ask.create({ ...request, stream: true }));
    expect(text).toBe('one');
    expect(chunks.filter(({ choices }) => choices[0]?.finish_reason)).toHaveLength(1);
    expect(api.calls.map(({ body }) => body.stop_sequences)).toEqual([undefined, undefined]);
  });

  test.each<[string, string]>([
    ['end_turn', 'stop'],
    ['max_tokens', 'length'],
    ['constructor', 'constructor'],
    ...longOnly<[string, string]>([
      ['stop_sequence', 'stop'],
      ['model_context_window_exceeded', 'length'],
      ['refusal', 'content_filter'],
      ['pause_turn', 'stop'],
      ['not_known_yet', 'not_known_yet'],
    ]),
  ])('that ended with %s ended with %s, also when it said nothing', async (stopReason, finish) => {
    const { ask, api } = await startClaude();
    api.answerWith({ blocks: [], stopReason });
    const whole = await ask.create({ model: 'claude', messages });
    expect(whole.choices[0]).toMatchObject({ message: { content: '' }, finish_reason: finish });
    const { chunks, error } = await readStream(
      await ask.create({ model: 'claude', messages, stream: true }),
    );
    expect(error).toBeUndefined();
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, finish]);
  });
});

describe('the Messages API when it fails', () => {
  const refusal = (type: string, message = 'Oh.') => ({
    type: 'error',
    error: { type, message },
    request_id: 'req_1',
  });

  test.each<[number, object, number, string]>([
    [400, refusal('invalid_request_error', 'max_tokens: too many'), 400, 'max_tokens: too many'],
    [400, refusal('invalid_request_error', 'Your credit balance is too low.'), 502, 'no credit'],
    ...longOnly<[number, object, number, string]>([
      [401, refusal('authentication_error'), 502, 'ANTHROPIC_API_KEY'],
      [402, refusal('billing_error'), 502, 'no credit'],
      [403, refusal('permission_error'), 502, 'denied access'],
      [404, refusal('not_found_error'), 502, 'claude-haiku-4-5'],
      [413, refusal('request_too_large', 'Too large.'), 413, 'Too large.'],
    ]),
    [429, refusal('rate_limit_error'), 429, 'is limiting requests (429)'],
    [500, refusal('api_error'), 502, 'answered with an error (500)'],
    [529, refusal('overloaded_error'), 503, 'overloaded'],
  ])('with %d %j is a %d', async (status, body, told, message) => {
    const { post, api, logged } = await startClaude();
    const headers = { 'retry-after': '30', 'x-should-retry': 'true' };
    api.failWith({ kind: 'status', status, body, headers });
    for (const stream of [false, true]) {
      const answer = await post({ model: 'claude', messages, stream });
      expect(answer.status).toBe(told);
      expect(JSON.parse(answer.text).error.message).toContain(message);
    }
    expect(logged.join('')).not.toContain(api.apiKey);
  });

  test('A wrong key is reported by its setting and not quoted', async () => {
    const { post, api, logged } = await startClaude({ apiKey: 'sk-ant-wrong-0123' });
    const answer = await post({ model: 'claude', messages });
    expect([answer.status, api.refusals]).toEqual([502, ['invalid x-api-key']]);
    expect(answer.text).toContain('ANTHROPIC_API_KEY');
    expect(`${answer.text} ${logged.join('')}`).not.toContain('sk-ant-wrong');
  });

  test.each([
    { kind: 'error-event', type: 'overloaded_error', afterDeltas: 0 },
    { kind: 'only-pings', everyMs: 20, afterDeltas: 0 },
    { kind: 'garbage' },
    { kind: 'wrong-shape' },
    { kind: 'html' },
  ] as const)('before it said anything, by %j, lets another answer', async (fault) => {
    const { ask, api, second } = await startClaude({ times: { firstChunkMs: 2_000 } });
    api.failWith(fault);
    const { text, error } = await readStream(
      await ask.create({ model: 'either', messages, stream: true }),
    );
    expect([text, error]).toEqual(['Hello from the fake provider.', undefined]);
    expect(second.calls).toHaveLength(1);
    await eventually(() => api.calls[0]?.aborted || fault.kind !== 'only-pings');
  });

  test.each([
    [{ kind: 'error-event', type: 'overloaded_error', afterDeltas: 2 }, /overloaded/],
    [{ kind: 'error-event', type: 'not_known_yet', afterDeltas: 2 }, /error \(500\)/],
    [{ kind: 'only-pings', everyMs: 20, afterDeltas: 2 }, /did not answer in time/],
    [{ kind: 'no-stop' }, /ended before it was complete/],
  ] as const)('in the middle of a stream, by %j, is never taken for whole', async (fault, said) => {
    const stallMs = fault.kind === 'only-pings' ? 2_000 : 45_000;
    const { ask, api, second, usage } = await startClaude({ times: { stallMs } });
    api.failWith(fault);
    const { text, error } = await readStream(
      await ask.create({ model: 'either', messages, stream: true }),
    );
    expect(error).toBeInstanceOf(OpenAI.APIError);
    expect(String(error)).toMatch(said);
    expect('Hello from the fake Claude.'.startsWith(text) && text !== '').toBe(true);
    expect(second.calls).toEqual([]);
    expect(await usage(1)).toMatchObject([{ end: 'upstream_error', provider: 'anthropic' }]);
  });

  test.each([{ kind: 'garbage' }, { kind: 'wrong-shape' }, { kind: 'html' }] as const)(
    'with a whole answer that is none, by %j, is a 502',
    async (fault) => {
      const { post, api } = await startClaude();
      api.failWith(fault);
      expect((await post({ model: 'claude', messages })).status).toBe(502);
    },
  );

  test.each([{ id: undefined }, { id: '' }, { id: 'msg_always' }])(
    'gives answers ids of ours when its own tell nothing apart: %j',
    async (told) => {
      const { ask, api } = await startClaude();
      api.answerWith({ blocks: [{ type: 'text', text: 'one two' }], ...told });
      const ids = new Set<string>();
      for (let time = 0; time < 2; time += 1) {
        ids.add((await ask.create({ model: 'claude', messages })).id);
        const { chunks } = await readStream(
          await ask.create({ model: 'claude', messages, stream: true }),
        );
        const own = new Set(chunks.map(({ id }) => id));
        expect(own.size).toBe(1);
        for (const id of own) ids.add(id);
      }
      expect(ids.size).toBe(4);
      ids.delete('msg_always');
      for (const id of ids) expect(id).toMatch(/^chatcmpl-[-0-9a-f]{36}$/);
    },
  );
});
