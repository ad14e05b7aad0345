import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { Chart } from '../../../src/bot/shared/card.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import { messages, type OpenOptions, openPageIn } from '../../helpers/console/open-page.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-11-21T11:00:00Z');
const HOSTILE = '<img src=x onerror="window.hacked=1"> last 24 hours';

/** A day with two hours that nobody measured, and an outage in its middle. */
function dayWithOutage(given: Partial<Chart> = {}): Chart {
  const values: Array<number | null> = Array.from({ length: 24 }, (_, at) => 100 + 25 * at);
  for (const at of [1, 3, 10, 11, 12]) values[at] = null;
  const points = values.map((value, at) => ({ atMs: START + at * HOUR_MS, value }));
  const outages = [{ fromMs: START + 10 * HOUR_MS, toMs: START + 13 * HOUR_MS }];
  const words = { title: HOSTILE, unit: 'ms', text: '▁·█' };
  return { kind: 'chart', ...words, points, stepMs: HOUR_MS, outages, ...given };
}

async function openWith(chart: Chart, options: OpenOptions = {}) {
  const running = await startTestConsole();
  const card = { tone: 'good' as const, title: 'Shop is UP', parts: [chart] };
  await running.console.post({ channel: 'general', id: 'c', attempted: false, card });
  const opened = await openPageIn(browser, running, {
    timezoneId: 'Asia/Kolkata',
    locale: 'en-GB',
    ...options,
  });
  const picture = messages(opened.page).getByRole('img');
  await picture.waitFor();
  return { ...opened, picture };
}

/** Where the words of a chart stand. */
const labelBoxes = (page: Page) =>
  page.locator('.chart text').evaluateAll((labels) =>
    labels.map((label) => {
      const { left, right, top, bottom } = label.getBoundingClientRect();
      return { left, right, top, bottom, text: label.textContent ?? '' };
    }),
  );

inBrowser('a chart in the browser', () => {
  test('has lines with gaps, shades the outage, and says all of it in words', async () => {
    const { page, picture, complaints } = await openWith(dayWithOutage());
    await eventuallyEquals(() => picture.locator('circle').count(), 2);
    await eventuallyEquals(() => picture.locator('polyline').count(), 2);
    await eventuallyEquals(() => picture.locator('rect.down').count(), 1);
    await eventuallyEquals(() => picture.locator('rect.unmeasured').count(), 2);
    const seen = (name: string) =>
      picture
        .locator(name)
        .first()
        .evaluate((shape) => {
          const { width, height } = shape.getBoundingClientRect();
          return width > 5 && height > 50 && getComputedStyle(shape).fill !== 'rgb(0, 0, 0)';
        });
    expect([await seen('rect.down'), await seen('rect.unmeasured')]).toEqual([true, true]);
    for (const key of ['Down', 'Not measured']) {
      await messages(page).getByText(key, { exact: true }).waitFor();
    }
    // India's clocks are five and a half hours ahead of UTC.
    const words = await picture.locator('desc').textContent();
    expect(words).toBe('From 100 ms to 675 ms. Down from 02:30 to 05:30.');
    await eventuallyEquals(
      () => picture.getAttribute('aria-labelledby'),
      expect.stringMatching(/-title .*-words$/),
    );
    await eventuallyEquals(() => picture.locator('> title').textContent(), HOSTILE);
    const hints = await picture.locator('.hints title').allTextContents();
    expect(hints[0]).toBe('16:30 to 17:30: 100 ms');
    expect(hints[1]).toBe('17:30 to 18:30: not measured');
    expect(hints[11]).toBe('03:30 to 04:30: down');
    await eventuallyEquals(() => page.evaluate(() => 'hacked' in window), false);
    expect(complaints).toEqual([]);
  });

  test.each([1280, 340])('fits a window of %i pixels, its labels apart', async (width) => {
    const { page, picture } = await openWith(dayWithOutage(), { viewport: { width, height: 800 } });
    const card = await page.locator('.card').boundingBox();
    const box = await picture.boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(
      (card?.x ?? 0) + (card?.width ?? 0),
    );
    const labels = await labelBoxes(page);
    expect(labels.length).toBeGreaterThan(6);
    for (const one of labels) {
      for (const other of labels) {
        if (one === other) continue;
        const apart =
          one.right <= other.left ||
          other.right <= one.left ||
          one.bottom <= other.top ||
          other.bottom <= one.top;
        expect({ one: one.text, other: other.text, apart }).toMatchObject({ apart: true });
      }
    }
  });

  test('is readable in dark and in light', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await openWith(dayWithOutage(), { colorScheme });
      const colors = await page.evaluate(() => {
        const of = (selector: string, property: string) => {
          const element = document.querySelector(selector);
          return element ? getComputedStyle(element).getPropertyValue(property) : '';
        };
        return {
          ground: of('.card', 'background-color'),
          line: of('.chart polyline', 'stroke'),
          words: of('.chart text', 'fill'),
        };
      });
      expect(contrast(colors.words, colors.ground)).toBeGreaterThan(4.5);
      expect(contrast(colors.line, colors.ground)).toBeGreaterThan(3);
    }
  });

  test('of one point, of none, and of failures only is no fault of the page', async () => {
    const point = [{ atMs: START, value: 7 }];
    const failed = Array.from({ length: 24 }, (_, at) => ({
      atMs: START + at * HOUR_MS,
      value: null,
    }));
    const outages = [{ fromMs: START, toMs: START + 24 * HOUR_MS }];
    for (const [given, words] of [
      [{ points: point, outages: [] }, 'From 7 ms to 7 ms.'],
      [{ points: [], outages: [] }, 'No measurements.'],
      [{ points: failed, outages }, 'No measurements. Down from 16:30 to 16:30.'],
    ] as const) {
      const { picture, complaints } = await openWith(
        dayWithOutage({ ...given, points: [...given.points], outages: [...given.outages] }),
      );
      await eventuallyEquals(() => picture.locator('desc').textContent(), words);
      expect(complaints).toEqual([]);
    }
  });
});

/** Source: WCAG 2.2, "contrast ratio". */
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const parts = [...color.matchAll(/[\d.]+/g)].slice(0, 3).map(Number);
  const [red = 0, green = 0, blue = 0] = parts.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
