import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createListenerSet } from '../../../src/gateway/shared/listener-set.ts';

test('A listener set holds what was added and not removed', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat({ max: 20 }))), (steps) => {
      const set = createListenerSet<number>();
      const held = new Map<number, () => void>();
      let next = 0;
      for (const step of steps) {
        if (step === null) {
          held.set(next, set.add(next));
          next += 1;
        } else {
          const takeOut = held.get(step);
          takeOut?.();
          held.delete(step);
          // A second time takes nothing else out.
          takeOut?.();
        }
        expect([...set].sort((a, b) => a - b)).toEqual([...held.keys()].sort((a, b) => a - b));
        expect(set.size).toBe(held.size);
      }
    }),
  );
});

test('A listener that leaves while they are called does not disturb the others', () => {
  const set = createListenerSet<() => void>();
  let told = 0;
  for (let count = 0; count < 5; count += 1) {
    const takeOut = set.add(() => {
      told += 1;
      takeOut();
    });
  }
  for (const tell of set) tell();
  expect([told, set.size]).toEqual([5, 0]);
});
