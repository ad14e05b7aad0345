import { describe, expect, test } from 'vitest';
import type { ChatRequest } from '../../../src/contracts/gateway.ts';
import { offlineEngine } from '../../../src/gateway/upstreams/offline.ts';

const ask = (...questions: string[]): ChatRequest => ({
  model: 'fast-8k',
  messages: questions.map((content) => ({ role: 'user', content })),
});
const never = new AbortController().signal;

async function answer(request: ChatRequest) {
  const { choices, usage } = await offlineEngine.complete(request, never);
  return { text: choices[0]?.message.content ?? '', choices, usage };
}

describe('the offline engine', () => {
  test('gives the same conversation the same answer', async () => {
    expect((await answer(ask('Why?'))).text).toBe((await answer(ask('Why?'))).text);
  });

  test('quotes the last questions of a long thread, and counts the others', async () => {
    const { text } = await answer(ask('q1', 'q2', 'q3', 'q4', 'q5', 'q6'));
    expect(text).toContain('You asked: “q6”');
    expect(text).toContain('2 other questions, then “q3”, then “q4”, then “q5”.');
  });

  test('shortens what is long, and tells pictures', async () => {
    const { text } = await answer({
      model: 'vision-16k',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '🌈'.repeat(5_000) },
            { type: 'image_url', image_url: { url: 'data:,' } },
          ],
        },
      ],
    });
    expect(text).toContain(`“${'🌈'.repeat(300)}…”`);
    expect(text).toContain('You also sent 1 image.');
  });

  test('honours max_tokens, stop and n', async () => {
    const short = await answer({ ...ask('Why?'), max_tokens: 4, n: 2 });
    expect(short.choices.map(({ message }) => message.content)).toEqual(
      Array(2).fill('This is the built-in'),
    );
    expect(short.choices[0]?.finish_reason).toBe('length');
    expect(short.usage?.completion_tokens).toBe(8);
    const stopped = await answer({ ...ask('Why?'), stop: ['nowhere', 'engine'] });
    expect(stopped.text).toBe('This is the built-in offline');
    expect(stopped.choices[0]?.finish_reason).toBe('stop');
  });

  test('streams the same answer word by word, usage last', async () => {
    const request = { ...ask('Why?'), max_tokens: 10, n: 2 };
    const texts = ['', ''];
    const finishes: unknown[] = [];
    let usage: unknown;
    let chunks = 0;
    for await (const chunk of offlineEngine.stream(request, never)) {
      chunks += 1;
      for (const { index, delta, finish_reason } of chunk.choices) {
        texts[index] += delta.content ?? '';
        if (finish_reason) finishes.push(finish_reason);
      }
      usage = chunk.usage;
    }
    const whole = await answer(request);
    expect(texts).toEqual([whole.text, whole.text]);
    expect(finishes).toEqual(['length', 'length']);
    expect(usage).toEqual(whole.usage);
    expect(chunks).toBe(2 + 20 + 2 + 1);
  });

  test('stops when the client is gone', async () => {
    const controller = new AbortController();
    const reading = (async () => {
      for await (const chunk of offlineEngine.stream(ask('Why?'), controller.signal)) {
        if (chunk.choices[0]?.delta.content === ' is') controller.abort();
      }
    })();
    await expect(reading).rejects.toThrow();
  });
});
