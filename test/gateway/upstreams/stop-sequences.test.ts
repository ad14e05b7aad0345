import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ChatCompletionChunk } from '../../../src/contracts/gateway.ts';
import {
  createChunkCutter,
  createStopCutter,
  cutCompletion,
} from '../../../src/gateway/upstreams/stop-sequences.ts';

/** Cuts a text before the sequence that is complete first, or before the longest of several. */
function cutSlowly(text: string, sequences: string[]): string {
  for (let end = 1; end <= text.length; end++) {
    const found = sequences.filter((sequence) => text.slice(0, end).endsWith(sequence));
    if (found.length > 0)
      return text.slice(0, end - Math.max(...found.map(({ length }) => length)));
  }
  return text;
}

function cut(pieces: string[], sequences: string[]): string {
  const cutter = createStopCutter(sequences);
  const passed = pieces.map((piece) => cutter.push(piece)).join('');
  return passed + (cutter.stopped ? '' : cutter.flush());
}

const few = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 30 });
const sequences = fc.array(
  fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength: 1, maxLength: 5 }),
  { minLength: 1, maxLength: 4 },
);

describe('an answer cut at stop sequences', () => {
  test('ends where the first one begins, however it comes in pieces', () => {
    fc.assert(
      fc.property(fc.array(few), sequences, (pieces, stops) => {
        expect(cut(pieces, stops)).toBe(cutSlowly(pieces.join(''), stops));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is held back no longer than a sequence could still begin in it', () => {
    const cutter = createStopCutter(['\n\n##']);
    expect(cutter.push('one\n')).toBe('one');
    expect(cutter.push('\n#')).toBe('');
    expect(cutter.push(' two')).toBe('\n\n# two');
    expect(cutter.push('\n\n## three')).toBe('');
    expect([cutter.stopped, cutter.push('more'), cutter.flush()]).toEqual([true, '', '']);
  });

  test('takes time in proportion to the text, whatever the sequence is', () => {
    // An algorithm with n x m steps would take some 10^12 here, beyond the time limit of a test.
    const cutter = createStopCutter([`${'a'.repeat(1_000_000)}b`]);
    for (let piece = 0; piece < 100; piece++) cutter.push('a'.repeat(20_000));
    expect(cutter.stopped).toBe(false);
    expect(cutter.flush().length).toBe(1_000_000);
  });

  test('keeps its usage, and says that it was stopped', () => {
    const choice = (index: number, content: string) => ({
      index,
      message: { role: 'assistant' as const, content },
      finish_reason: 'length',
    });
    const usage = { prompt_tokens: 1, completion_tokens: 9, total_tokens: 10 };
    const completion = {
      id: 'x',
      object: 'chat.completion' as const,
      created: 1,
      model: 'm',
      choices: [choice(0, 'one\ntwo'), choice(1, 'one two')],
      usage,
    };
    expect(cutCompletion(completion, ['\n'])).toEqual({
      ...completion,
      choices: [{ ...choice(0, 'one'), finish_reason: 'stop' }, choice(1, 'one two')],
    });
  });

  test('lets each choice of a stream go on for itself, up to the usage', () => {
    const cutter = createChunkCutter(['##']);
    const base = { id: 'x', object: 'chat.completion.chunk' as const, created: 1, model: 'm' };
    const usage = { prompt_tokens: 1, completion_tokens: 9, total_tokens: 10 };
    const chunk = (
      index: number,
      delta: ChatCompletionChunk['choices'][number]['delta'],
      finish_reason: string | null = null,
    ): ChatCompletionChunk => ({ ...base, choices: [{ index, delta, finish_reason }] });
    const given: ChatCompletionChunk[] = [
      chunk(0, { role: 'assistant', content: '' }),
      chunk(1, { role: 'assistant', content: '' }),
      chunk(0, { content: 'one #' }),
      chunk(1, { content: '#' }),
      chunk(0, { content: '# two' }),
      chunk(0, { tool_calls: [{ index: 0 }] }),
      chunk(0, {}, 'length'),
      chunk(1, {}, 'length'),
      { ...base, choices: [], usage },
    ];
    expect(given.map(cutter)).toEqual([
      given[0],
      given[1],
      chunk(0, { content: 'one ' }),
      undefined,
      chunk(0, { content: '' }, 'stop'),
      undefined,
      undefined,
      chunk(1, { content: '#' }, 'length'),
      { ...base, choices: [], usage },
    ]);
  });
});
