import { expect, test } from 'vitest';
import { createCallReader } from '../../../src/bot/ask/call-reader.ts';

test('an endless name and endless arguments are cut', () => {
  const reader = createCallReader();
  const piece = { name: 'x'.repeat(200), arguments: 'y'.repeat(1_000) };
  for (let at = 0; at < 1_000; at += 1) {
    const delta = { tool_calls: [{ index: 0, function: piece }] };
    reader.read({ index: 0, delta, finish_reason: null });
  }
  const [call, ...others] = reader.calls();
  expect(others).toEqual([]);
  expect(call?.function.name).toHaveLength(200);
  expect(call?.function.arguments).toHaveLength(4_000);
});

test.each([
  { how: 'split over deltas', names: ['list_', 'monitors', null] },
  { how: 'repeated in each delta', names: ['list_monitors', 'list_monitors', 'list_monitors'] },
])('a name that is $how is one name', ({ names }) => {
  const reader = createCallReader();
  for (const name of names) {
    const delta = { tool_calls: [{ index: 0, id: 'c1', function: { name, arguments: ' ' } }] };
    reader.read({ index: 0, delta, finish_reason: null });
  }
  expect(reader.calls()).toEqual([
    { id: 'c1', type: 'function', function: { name: 'list_monitors', arguments: '   ' } },
  ]);
});
