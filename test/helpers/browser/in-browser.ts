import type { Browser } from 'playwright-core';
import { describe } from 'vitest';
import { long } from '../long.ts';
import { startBrowser, warnWithoutBrowser } from './browser.ts';

/** A browser on a busy machine can be slow; nothing is about how slow. Full counts have the limit of all full counts. */
const LIMIT = long ? {} : { timeout: 150_000 };

const started = await startBrowser();
if ('unavailable' in started) warnWithoutBrowser(started.unavailable);

/** The one browser of all test files that a process runs, and it ends with the process; each test opens contexts of its own. */
export const browser: Browser | undefined = 'unavailable' in started ? undefined : started;

/** Tests that need the browser; without one they are skipped, which is said where nobody overlooks it. */
export function inBrowser(name: string, tests: () => void): void {
  describe.skipIf(!browser)(name, LIMIT, tests);
}
