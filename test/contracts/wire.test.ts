import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ErrorBody } from '../../src/contracts/error.ts';
import { DONE_EVENT, dataEvent, PING_COMMENT } from '../../src/contracts/server-sent-events.ts';

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
