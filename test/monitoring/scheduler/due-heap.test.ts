import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDueHeap } from '../../../src/monitoring/scheduler/due-heap.ts';

test('always gives what is due first, whatever is put, moved and removed', () => {
  const operation = fc.record({
    item: fc.integer({ min: 0, max: 30 }),
    dueMs: fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
      const heap = createDueHeap<{ dueMs: number; heapIndex: number }>();
      const items = Array.from({ length: 31 }, () => ({ dueMs: 0, heapIndex: -1 }));
      const model = new Set<{ dueMs: number; heapIndex: number }>();
      for (const { item, dueMs } of operations) {
        const chosen = items[item];
        if (chosen === undefined) continue;
        if (dueMs === undefined) {
          heap.remove(chosen);
          model.delete(chosen);
        } else {
          chosen.dueMs = dueMs;
          heap.put(chosen);
          model.add(chosen);
        }
        const first = Math.min(...[...model].map((entry) => entry.dueMs));
        expect(items.filter(({ heapIndex }) => heapIndex !== -1)).toHaveLength(model.size);
        expect(heap.peek()?.dueMs ?? Number.POSITIVE_INFINITY).toBe(first);
      }
      const drained: number[] = [];
      for (let top = heap.peek(); top; top = heap.peek()) {
        drained.push(top.dueMs);
        heap.remove(top);
      }
      expect(drained).toEqual([...model].map((entry) => entry.dueMs).sort((a, b) => a - b));
    }),
  );
});
