import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createListenerSet } from '../../../src/gateway/shared/listener-set.ts';

test('a bag holds what was put in and not taken out', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat({ max: 20 }))), (steps) => {
      const bag = createListenerSet<number>();
      const held = new Map<number, () => void>();
      let next = 0;
      for (const step of steps) {
        if (step === null) {
          held.set(next, bag.add(next));
          next += 1;
        } else {
          const takeOut = held.get(step);
          takeOut?.();
          held.delete(step);
          // A second time takes nothing else out.
          takeOut?.();
        }
        expect([...bag].sort((a, b) => a - b)).toEqual([...held.keys()].sort((a, b) => a - b));
        expect(bag.size).toBe(held.size);
      }
    }),
  );
});

test('what is taken out during a walk does not disturb it', () => {
  const bag = createListenerSet<() => void>();
  let told = 0;
  for (let count = 0; count < 5; count += 1) {
    const takeOut = bag.add(() => {
      told += 1;
      takeOut();
    });
  }
  for (const tell of bag) tell();
  expect([told, bag.size]).toEqual([5, 0]);
});
