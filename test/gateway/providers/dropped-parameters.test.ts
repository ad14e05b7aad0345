import { expect, onTestFinished, test } from 'vitest';
import { Model, ModelList } from '../../../src/contracts/gateway.ts';
import { startAnthropic } from '../../fakes/anthropic.ts';
import {
  NO_OLLAMA,
  startFake,
  startGateway,
  textModel,
} from '../../helpers/gateway/running-gateway.ts';

const ASKED = {
  messages: [{ role: 'user', content: 'Hi', name: 'Ada' }],
  temperature: 0.2,
  top_p: 0.9,
  presence_penalty: 0.5,
  seed: 7,
};

/** A gateway whose models are each answered by another provider; `both` by Gemini, which takes less, and then by Groq. */
async function startMixed() {
  const start = () => startFake({ models: ['test-model', 'gpt-6-luna'] });
  const fakes = { openai: await start(), gemini: await start(), groq: await start() };
  const at = ({ url, apiKey }: { url: string; apiKey: string }) => ({
    apiKey,
    baseUrl: `${url}/v1`,
  });
  const gateway = await startGateway({
    catalog: {
      models: [
        textModel('elsewhere', ['openai', 'gpt-6-luna']),
        textModel('less', 'gemini'),
        textModel('both', 'gemini', 'groq'),
      ],
    },
    providers: {
      ...NO_OLLAMA,
      openai: at(fakes.openai),
      gemini: at(fakes.gemini),
      groq: at(fakes.groq),
    },
  });
  return { ...gateway, ...fakes };
}

test('all parameters are sent to another OPENAI_BASE_URL, whatever the name of the model', async () => {
  const { post, openai } = await startMixed();
  const { status, headers } = await post({ ...ASKED, model: 'elsewhere' });
  expect([status, headers.get('x-askwatch-dropped')]).toEqual([200, null]);
  expect(openai.calls[0]?.body).toMatchObject(ASKED);
});

test.each([{ stream: false }, { stream: true }, { n: 3 }])(
  'parameters that were left out are named once: %j',
  async (more) => {
    const { post, gemini } = await startMixed();
    const { status, headers } = await post({ ...ASKED, model: 'less', ...more });
    expect([status, headers.get('x-askwatch-dropped')]).toEqual([200, 'presence_penalty']);
    expect(gemini.calls[0]?.body).not.toHaveProperty('presence_penalty');
  },
);

test('a strict request is refused, or answered by an upstream that takes all its parameters', async () => {
  const { post, gemini, groq } = await startMixed();
  const strict = { 'x-askwatch-strict': 'true' };
  const { messages, ...parameters } = ASKED;
  const asked = { ...parameters, messages: [{ role: 'user', content: 'Hi' }] };
  for (const stream of [false, true]) {
    const refused = await post({ ...asked, model: 'less', stream }, strict);
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.text).error).toMatchObject({
      param: 'presence_penalty',
      code: 'unsupported_parameter',
      message: expect.stringContaining("The model 'less' does not support presence_penalty"),
    });
  }
  const answered = await post({ ...asked, model: 'both' }, strict);
  expect([answered.status, answered.headers.get('x-askwatch-dropped')]).toEqual([200, null]);
  expect([gemini.calls.length, groq.calls.length]).toEqual([0, 1]);
  const named = await post({ ...ASKED, model: 'both' }, strict);
  expect(named.status).toBe(400);
});

test('the list of models names the parameters that each supports, tools among them', async () => {
  const { url, key } = await startMixed();
  const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = ModelList.parse(await answer.json());
  const heeded = new Map(data.map((model) => [model.id, model.supported_parameters]));
  const less = ['temperature', 'max_tokens', 'top_p', 'n', 'stream', 'stop', 'tools'];
  expect(heeded.get('less')).toEqual(less);
  expect(heeded.get('elsewhere')).toHaveLength(9);
  expect(heeded.get('elsewhere')).toContain('tools');
  // Elsewhere there need be none.
  expect(Model.safeParse({ id: 'x', object: 'model', created: 1, owned_by: 'y' }).success).toBe(
    true,
  );
});

test('the offline engine names temperature as left out, and supports no tools', async () => {
  const { post, url, key } = await startGateway();
  const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = ModelList.parse(await answer.json());
  const text = data.filter(({ kind }) => kind === 'text');
  expect(text.length).toBeGreaterThan(0);
  for (const { supported_parameters } of text) {
    expect(supported_parameters).toContain('max_tokens');
    expect(supported_parameters).not.toContain('tools');
  }
  const { status, headers } = await post({ ...ASKED, model: 'small-4k' });
  expect([status, headers.get('x-askwatch-dropped')]).toEqual([
    200,
    'temperature,top_p,presence_penalty,seed',
  ]);
});

const FILE = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:,' } };
const SOUND = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
const turns = (part: object) => [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: [{ type: 'refusal', refusal: 'I will not.' }] },
  { role: 'user', content: [{ type: 'text', text: 'See' }, part] },
];

test.each([FILE, SOUND])(
  'parts go to a provider that takes them, refusals too: %j',
  async (part) => {
    const { post, openai } = await startMixed();
    const { status, text } = await post({ model: 'elsewhere', messages: turns(part) });
    expect(status, text).toBe(200);
    expect(openai.calls[0]?.body.messages).toEqual(turns(part));
  },
);

test('content parts that a provider does not take are a 400 that names them, and a refusal is sent as text', async () => {
  const { post, gemini } = await startMixed();
  for (const stream of [false, true]) {
    const refused = await post({ model: 'less', messages: turns(FILE), stream });
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.text).error).toMatchObject({
      param: 'messages.2.content.1',
      message: "Invalid 'messages.2.content.1': Google Gemini takes no file.",
    });
  }
  expect((await post({ model: 'less', messages: turns(SOUND) })).status).toBe(200);
  expect(gemini.calls[0]?.body.messages[1]).toEqual({
    role: 'assistant',
    content: [{ type: 'text', text: 'I will not.' }],
  });
});

test('parameters that are not sent to Anthropic are named', async () => {
  const fake = await startAnthropic({ models: ['claude-sonnet-5'] });
  onTestFinished(() => fake.close());
  const { post } = await startGateway({
    catalog: { models: [textModel('thinker', ['anthropic', 'claude-sonnet-5'])] },
    providers: { ...NO_OLLAMA, anthropic: { apiKey: fake.apiKey, baseUrl: `${fake.url}/v1` } },
  });
  const { headers } = await post({
    ...ASKED,
    model: 'thinker',
    metadata: { user_id: 'ada' },
    n: 1,
  });
  expect(headers.get('x-askwatch-dropped')).toBe(
    'temperature,top_p,presence_penalty,seed,messages.name',
  );
});
