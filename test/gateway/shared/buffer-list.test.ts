import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BufferList } from '../../../src/gateway/shared/buffer-list.ts';

test('parts of any sizes are joined in their order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 5_000, size: 'max' }),
      (lengths) => {
        const parts = new BufferList();
        const all: Buffer[] = [];
        for (const [at, length] of lengths.entries()) {
          const part = Buffer.alloc(length, at % 251);
          parts.add(part);
          all.push(part);
        }
        const whole = Buffer.concat(all);
        expect(parts.length).toBe(whole.length);
        expect(parts.join().equals(whole)).toBe(true);
      },
    ),
    { numRuns: 50 },
  );
});

test('a million parts of a byte take little more than their bytes', () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const heldBytes = () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const parts = new BufferList();
  const before = heldBytes();
  for (let count = 0; count < 1_000_000; count += 1) parts.add(Buffer.from('x'));
  // Separate Buffers would take about a hundred million.
  expect(heldBytes() - before).toBeLessThan(20_000_000);
  expect(parts.join().toString()).toBe('x'.repeat(1_000_000));
});
