import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ErrorBody, ErrorCode } from '../../src/contracts/error.ts';
import { DONE_EVENT, dataEvent, PING_COMMENT } from '../../src/contracts/server-sent-events.ts';
import { estimatePromptTokens, estimateTextTokens } from '../../src/contracts/tokens.ts';

test('an event is one data line and an empty line, whatever it carries', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const event = dataEvent(value);
      expect(event.startsWith('data: ')).toBe(true);
      expect(event.endsWith('\n\n')).toBe(true);
      const payload = event.slice('data: '.length, -2);
      expect(payload).not.toMatch(/[\r\n]/);
      expect(JSON.parse(payload)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
  expect(DONE_EVENT).toBe('data: [DONE]\n\n');
  expect(PING_COMMENT).toBe(': ping\n\n');
});

test('an error body needs its sentence and type, and leaves the rest open', () => {
  const error = { message: 'No.', type: 't' };
  expect(ErrorBody.safeParse({ error }).success).toBe(true);
  expect(ErrorBody.safeParse({ error: { ...error, param: null, code: 'c' } }).success).toBe(true);
  expect(ErrorBody.safeParse({ error: 'No.' }).success).toBe(false);
  expect(ErrorBody.safeParse({ error: { type: 't' } }).success).toBe(false);
  expect(ErrorBody.safeParse({}).success).toBe(false);
});

test('no two error codes are the same word', () => {
  const codes = Object.values(ErrorCode);
  expect(new Set(codes).size).toBe(codes.length);
  for (const code of codes) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
});

test('tokens are a quarter of the bytes of a text, rounded up', () => {
  expect(estimateTextTokens('')).toBe(0);
  expect(estimateTextTokens('a')).toBe(1);
  expect(estimateTextTokens('abcd')).toBe(1);
  expect(estimateTextTokens('abcde')).toBe(2);
  expect(estimateTextTokens('😀')).toBe(1);
});

test('a prompt costs its texts, a little for each message, and a fixed sum for each picture', () => {
  const user = (content: string) => ({ role: 'user' as const, content });
  expect(estimatePromptTokens([])).toBe(0);
  expect(estimatePromptTokens([user('abcd')])).toBe(5);
  expect(estimatePromptTokens([user('abcd'), user('abcd')])).toBe(10);
  const parts = [
    { type: 'text' as const, text: 'abcd' },
    { type: 'image_url' as const, image_url: { url: `data:${'x'.repeat(10_000)}` } },
  ];
  expect(estimatePromptTokens([{ role: 'user', content: parts }])).toBe(4 + 1 + 800);
});

test('the estimate adds up and never runs away, on any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, two) => {
      const sum = estimateTextTokens(one) + estimateTextTokens(two);
      const together = estimateTextTokens(one + two);
      expect(together).toBeLessThanOrEqual(sum);
      expect(together).toBeGreaterThanOrEqual(sum - 2);
    }),
  );
  // Real tokenizers need minutes for these; this needs one pass over the text.
  for (const unit of ['a', '\u200b', '\u0301']) {
    const text = unit.repeat(10_000_000);
    expect(estimateTextTokens(text)).toBe(Math.ceil(Buffer.byteLength(text) / 4));
  }
});
