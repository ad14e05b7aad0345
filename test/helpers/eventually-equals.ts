import { expect } from 'vitest';
import { eventually } from './eventually.ts';

/** As `eventually`, until what is asked for equals `wanted`; the cause of the failure shows the last difference. */
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
