import dns from 'node:dns';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Provider } from '../../../src/gateway/providers/provider.ts';
import type { UpstreamError } from '../../../src/gateway/shared/upstream-error.ts';
import { PERSONALITIES } from '../../fakes/provider-personalities.ts';
import {
  NO_OLLAMA,
  startFake,
  startGateway,
  textModel,
} from '../../helpers/gateway/running-gateway.ts';
import {
  complete,
  providerAt,
  startUpstream,
  stream,
} from '../../helpers/gateway/running-upstream.ts';
import { long } from '../../helpers/long.ts';

type Name = keyof typeof PERSONALITIES;

/** Models of each provider, one for each way it takes parameters. */
const ROWS: Array<[Name, string]> = [
  ['openai', 'gpt-4o'],
  ['openai', 'gpt-5-chat-latest'],
  ['openai', 'gpt-5.6-terra'],
  ['openai', 'gpt-6-luna'],
  ['openai', 'o4-mini'],
  ['gemini', 'gemini-3.8-flash'],
  ['mistral', 'mistral-large-latest'],
  ['groq', 'openai/gpt-oss-120b'],
  ['xai', 'grok-4.3'],
  ['xai', 'grok-4.20-non-reasoning'],
  ['deepseek', 'deepseek-flash'],
  ['openrouter', 'openrouter/auto'],
  ['ollama', 'llama9'],
];

/** The most different providers; `npm run test:long` tries all. */
const UNLIKE: Name[] = ['gemini', 'mistral', 'groq', 'ollama'];
const TRIED = long
  ? ROWS
  : ROWS.filter(([name, model]) => UNLIKE.includes(name) || model === 'gpt-5.6-terra');

const EVERY_PARAMETER = {
  // Roles in any mix.
  messages: [
    { role: 'assistant' as const, content: 'Ask me.' },
    { role: 'developer' as const, content: 'Be short.' },
    { role: 'user' as const, content: 'Count.' },
    { role: 'system' as const, content: 'Be kind.' },
    { role: 'assistant' as const, content: 'Up or down?' },
  ],
  temperature: 0.7,
  max_tokens: 50,
  top_p: 0.9,
  n: 1,
  stop: ['###', '\n\n\n'],
  presence_penalty: 0.5,
  frequency_penalty: -0.5,
};

const startLike = (name: Name, model: string) =>
  startFake({
    models: [model],
    personality: PERSONALITIES[name],
    ...(name === 'ollama' && { apiKey: '' }),
  });

/** An address of OpenAI's own that leads to the fake: what names say of models holds there alone. */
function asOpenai(url: string): string {
  const real = dns.lookup;
  const spy = vi
    .spyOn(dns, 'lookup')
    .mockImplementation(((name: string, ...rest: unknown[]) =>
      Reflect.apply(real, dns, [
        name === 'api.openai.com' ? '127.0.0.1' : name,
        ...rest,
      ])) as never);
  onTestFinished(() => spy.mockRestore());
  return url.replace('127.0.0.1', 'api.openai.com');
}

/** A gateway over a provider that is like the real one, and the official client at it. */
async function startRow(name: Name, model: string, apiKey?: string) {
  const fake = await startLike(name, model);
  const baseUrl = `${name === 'openai' ? asOpenai(fake.url) : fake.url}/v1`;
  const key = { apiKey: apiKey ?? fake.apiKey, baseUrl };
  const gateway = await startGateway({
    catalog: { models: [textModel('role', [name, name === 'ollama' ? '*' : model])] },
    providers: name === 'ollama' ? { ollama: { baseUrl } } : { ...NO_OLLAMA, [name]: key },
  });
  return { ...gateway, fake };
}

describe.each(TRIED)('%s, with %s', (name, model) => {
  test('takes every parameter of the contract, whole and streamed, and honours stop', async () => {
    const { client, fake } = await startRow(name, model);
    fake.answerWith('one two ### three');
    const { completions } = client.chat;
    for (const temperature of [0, 0.7, 1, 2]) {
      const request = { ...EVERY_PARAMETER, model: 'role', temperature };
      const whole = await completions.create(request);
      expect(whole.choices[0]?.message.content?.trimEnd()).toBe('one two');
      expect(whole.choices[0]?.finish_reason).toBe('stop');
      expect(whole.usage?.completion_tokens).toBeGreaterThan(0);

      let text = '';
      let finish: unknown;
      let tokens: number | undefined;
      const options = { include_usage: true };
      const chunks = await completions.create({
        ...request,
        stream: true,
        stream_options: options,
      });
      for await (const { choices, usage } of chunks) {
        text += choices[0]?.delta.content ?? '';
        finish = choices[0]?.finish_reason ?? finish;
        tokens = usage?.completion_tokens ?? tokens;
      }
      expect([text.trimEnd(), finish]).toEqual(['one two', 'stop']);
      expect(tokens).toBe(whole.usage?.completion_tokens);
    }
    expect(fake.refusals).toEqual([]);
    expect(fake.unhandled).toEqual([]);
    expect(fake.calls).toHaveLength(8);
  });

  test('gives as many variants as are asked for', async () => {
    const { client, fake } = await startRow(name, model);
    const request = { ...EVERY_PARAMETER, model: 'role', n: 3 };
    const { choices } = await client.chat.completions.create(request);
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(fake.refusals).toEqual([]);

    if (PERSONALITIES[name].givesChoices && name !== 'groq') return;
    const provider: Provider = providerAt(name, fake.url, fake.apiKey);
    const atOnce = await complete(startUpstream(provider, model), request).then(
      (answer) => answer.choices.length,
      (refusal: UpstreamError) => refusal.kind,
    );
    expect(atOnce).toBe(name === 'groq' ? 'request' : 1);
  });

  test('sends the usage of a stream when it is asked for in its own way', async () => {
    const fake = await startLike(name, model);
    const provider: Provider = providerAt(name, fake.url, fake.apiKey);
    const request = { model: 'role', messages: [{ role: 'user' as const, content: 'Hi' }] };
    const chunks = await stream(startUpstream(provider, model), request);
    expect(chunks.filter(({ usage }) => usage)).toHaveLength(1);
    expect(chunks.some((chunk) => 'obfuscation' in chunk)).toBe(false);

    const other = { ...provider, streamOptions: !provider.streamOptions };
    const unlike = await stream(startUpstream(other, model), request).catch(
      (refusal: UpstreamError) => refusal.kind,
    );
    if (name === 'mistral') expect(unlike).toBe('request');
    else if (PERSONALITIES[name].usage === 'always') expect(unlike).toHaveLength(chunks.length);
    else expect(Array.isArray(unlike) && unlike.some(({ usage }) => usage)).toBe(false);
    if (!PERSONALITIES[name].pads) return;
    const padded = await stream(startUpstream({ ...provider, padsChunks: false }, model), request);
    expect(padded.some((chunk) => 'obfuscation' in chunk)).toBe(true);
  });
});

test.each(TRIED.filter(([name]) => name !== 'ollama'))(
  'a key that is wrong is told as ours, whatever status %s has for it (%s)',
  async (name, model) => {
    const { client, fake, logged } = await startRow(name, model, 'sk-wrong-0123456789');
    const call = client.chat.completions.create({
      model: 'role',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    const error = await call.catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      status: 502,
      message: expect.stringMatching(/(?:rejected the API key|denied access).*_API_KEY/),
    });
    expect(fake.refusals).toHaveLength(1);
    expect(`${error} ${logged.join('')}`).not.toContain('sk-wrong');
  },
);

describe('a refusal', () => {
  test.each([
    ['openai', 'gpt-4o', "Unknown parameter: 'wizardry'."],
    ['gemini', 'gemini-3.8-flash', 'Unknown name "wizardry": Cannot find field.'],
    ['mistral', 'mistral-large-latest', 'wizardry: Not permitted'],
    ['groq', 'openai/gpt-oss-120b', "property 'wizardry' is unsupported"],
  ] as const)(
    'of a field that %s does not know is told in its words',
    async (name, model, said) => {
      const { post } = await startRow(name, model);
      const messages = [{ role: 'user', content: 'Hi' }];
      const { status, text } = await post({ model: 'role', messages, wizardry: 1 });
      expect(JSON.parse(text).error.message).toContain(said);
      expect([400, 422]).toContain(status);
    },
  );

  test('is not blamed on our key because the caller’s text says so', async () => {
    const { post } = await startRow('gemini', 'gemini-3.8-flash');
    const messages = [{ role: 'user', content: 'Hi' }];
    const answer = await post({ model: 'role', messages, 'API key not valid': 1 });
    expect(answer.status).toBe(400);
  });

  test.each([
    ['xai', 400, { code: 'Bad', error: 'It does not support it.' }, 400, 'It does not support it.'],
    ['openrouter', 402, { error: { code: 402, message: 'Pay.' } }, 502, 'no credit left'],
    ['openrouter', 403, { error: { code: 403, message: 'Flagged.' } }, 400, 'Flagged.'],
    [
      'openrouter',
      200,
      { error: { code: 429, message: 'Slow.' } },
      429,
      'is limiting requests (429)',
    ],
    ['openrouter', 200, { error: { code: 'odd', message: 'x' } }, 502, 'broke off with an error'],
    [
      'groq',
      413,
      { error: { message: 'x', code: 'rate_limit_exceeded' } },
      429,
      'is limiting requests',
    ],
    ['groq', 413, { error: { message: 'Too long.', code: 'large' } }, 413, 'Too long.'],
    ['groq', 403, { error: { message: 'No.' } }, 502, 'denied access'],
    ['mistral', 422, { detail: [{ loc: ['body', 'x', 1], msg: 'Bad.' }] }, 422, 'x.1: Bad.'],
    ['deepseek', 402, { error: { message: 'Insufficient Balance' } }, 502, 'no credit left'],
  ] as const)('of %s, %d with %j, is a %d', async (name, given, body, status, said) => {
    const row = ROWS.find((known) => known[0] === name);
    const { post, fake } = await startRow(name, row?.[1] ?? '');
    fake.failWith({ kind: 'status', status: given, body });
    const answer = await post({ model: 'role', messages: [{ role: 'user', content: 'Hi' }] });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text).error.message).toContain(said);
  });
});
