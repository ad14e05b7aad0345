import { expect } from 'vitest';
import { eventually } from './eventually.ts';

/** Waits until the value equals `wanted`; the error's cause shows the last difference. */
export async function eventuallyEquals<T>(
  ask: () => T | Promise<T>,
  wanted: unknown,
  options: { everyMs?: number } = {},
): Promise<void> {
  const isEqual = async () => {
    expect(await ask()).toEqual(wanted);
    return true;
  };
  await eventually(isEqual, { ...options, what: `${ask} to equal ${String(wanted)}` });
}
