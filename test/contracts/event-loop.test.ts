import { readFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { beginTurn, yieldToEventLoop } from '../../src/contracts/event-loop.ts';

describe('the event loop', () => {
  /** Goes on where work begins that follows from bytes that came, with a timer that is due. */
  async function withTimerDue() {
    await readFile(import.meta.filename);
    const timer = { hasRun: false };
    setTimeout(() => {
      timer.hasRun = true;
    }, 1);
    holdLoop(3);
    return timer;
  }

  test('lets a timer that is due have its turn', async () => {
    const timer = await withTimerDue();
    await yieldToEventLoop();
    expect(timer.hasRun).toBe(true);
  });

  test('is yielded to after ten milliseconds of work in pieces, and each turn is timed anew', async () => {
    const timer = await withTimerDue();
    const now = vi.spyOn(performance, 'now').mockReturnValue(100);
    onTestFinished(() => now.mockRestore());
    const turn = beginTurn();
    expect(turn.isOver()).toBe(false);
    now.mockReturnValue(110);
    expect(turn.isOver()).toBe(true);
    await turn.next();
    expect(timer.hasRun).toBe(true);
    expect(turn.isOver()).toBe(false);
  });
});

/** Holds the loop for so long. */
function holdLoop(ms: number) {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}
