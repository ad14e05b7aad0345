import { expect, test } from 'vitest';
import { Progress } from '../../src/cli/progress.ts';

/** A stream that keeps what is written to it. */
function recordingStream(isTTY: boolean) {
  const written: string[] = [];
  return { written, err: { isTTY, columns: 60, write: (text: string) => written.push(text) > 0 } };
}

const progressOn = ({ err }: ReturnType<typeof recordingStream>, options = {}) =>
  new Progress('Moving', { err } as never, options);

test('draws a bar on a terminal, no wider than it, and removes it', () => {
  const stream = recordingStream(true);
  const progress = progressOn(stream);
  progress.update(12, 24, `parts, ${'x'.repeat(100)}`);
  // The next drawing comes later.
  progress.update(13, 24, 'parts');
  const [drawn = ''] = stream.written;
  expect(drawn).toContain(`${'━'.repeat(12)}${'─'.repeat(12)} 12 of 24 parts, xxx`);
  expect(drawn.replace('\r\u001b[K', '').length).toBeLessThan(60);
  progress.clear();
  progress.clear();
  expect(stream.written).toEqual([drawn, '\r\u001b[K']);
});

test('draws nothing elsewhere in the first minute', () => {
  const stream = recordingStream(false);
  const progress = progressOn(stream);
  progress.update(1, 2, 'parts');
  progress.clear();
  expect(stream.written).toEqual([]);
});

test.each([{ quiet: true }, { json: true }])('draws nothing with %j', (options) => {
  const stream = recordingStream(true);
  const progress = progressOn(stream, options);
  progress.update(1, 2, 'parts');
  progress.clear();
  expect(stream.written).toEqual([]);
});
