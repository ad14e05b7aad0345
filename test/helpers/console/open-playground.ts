import type { Locator, Page } from 'playwright-core';

import { browser } from '../browser/in-browser.ts';
import { input, type OpenOptions, openPageIn } from './open-page.ts';
import type { TestConsole } from './test-console.ts';

/** Opens the page as a new person, in a browser context of its own. */
export const openPage = (at: Pick<TestConsole, 'url'>, options?: OpenOptions) =>
  openPageIn(browser, at, options);

/** Types a line in the channel and sends it. */
export async function say(page: Page, text: string) {
  await input(page).fill(text);
  await input(page).press('Enter');
}

export const hasFocus = (one: Locator) => one.evaluate((it) => it === document.activeElement);

/** Presses Tab until the element has the focus. Throws if it never gets it. */
export async function tabTo(page: Page, one: Locator, key = 'Tab') {
  await one.waitFor();
  for (let press = 0; press < 60; press++) {
    if (await hasFocus(one)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`The key ${key} does not lead to ${one}.`);
}

/** By how many pixels the page or a scrolling part is too wide. */
export const sidewaysPx = (page: Page) =>
  page.evaluate(() =>
    Math.max(
      document.documentElement.scrollWidth - innerWidth,
      ...[...document.querySelectorAll('.scrolled, .side, .form-body, .form-foot')].map(
        (box) => box.scrollWidth - box.clientWidth,
      ),
    ),
  );
