import { expect, test } from 'vitest';
import { parseRequestBody } from '../../../src/gateway/chat/request-body.ts';
import { HttpError } from '../../../src/http/errors.ts';

const keys = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":1`).join();

test.each([
  ['nothing', '', 'is empty'],
  ['text that is not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'not UTF-8'],
  ['half of an object', '{"a":', 'not valid JSON'],
  ['ten million brackets', '['.repeat(10_000_000), 'more than 100 levels deep'],
  ['380,000 keys', `{${keys(380_000)}}`, 'more than 20000 keys'],
  [
    '100,000 messages',
    `[${'{"role":"user","content":""},'.repeat(100_000)}1]`,
    'more than 20000 keys',
  ],
  ['millions of values', `[${'{},'.repeat(2_000_000)}1]`, 'more than 200000 values'],
  ['a key __proto__', '{"a":[{"__proto__":{}}]}', '__proto__'],
  ['an escaped key __proto__', '{"\\u005f_proto__":1}', '__proto__'],
])('A body that is %s is refused with the reason', (_name, content, why) => {
  let refusal: unknown;
  try {
    parseRequestBody(Buffer.from(content));
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(HttpError);
  expect(refusal).toMatchObject({ status: 400, code: 'invalid_json' });
  expect(String(refusal)).toContain(why);
});

test('A body may have 20,000 keys and 200,000 values, and brackets within strings do not count', () => {
  const text = '{:,['.repeat(100_000);
  const many = `{${keys(19_998)},"values":[${'0,'.repeat(179_000)}0],"text":"${text}"}`;
  const value = parseRequestBody(Buffer.from(many)) as Record<string, unknown>;
  expect(Object.keys(value)).toHaveLength(20_000);
});

test('A body may be a hundred levels deep', () => {
  const deep = `${'['.repeat(100)}"${'['.repeat(200)}"${']'.repeat(100)}`;
  expect(JSON.stringify(parseRequestBody(Buffer.from(deep)))).toBe(deep);
});
