import { expect, test } from 'vitest';
import type { Chart } from '../../../src/bot/shared/card.ts';
import { browser, inBrowser } from '../../helpers/browser/in-browser.ts';
import { messages, type OpenOptions, openPageIn } from '../../helpers/console/open-page.ts';
import { startTestConsole } from '../../helpers/console/test-console.ts';
import { eventuallyEquals } from '../../helpers/eventually-equals.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-11-21T11:00:00Z');
const HOSTILE = '<img src=x onerror="window.hacked=1"> last 24 hours';

/** A day with two unmeasured hours, and an outage in its middle. */
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

inBrowser('a chart in the browser', () => {
  test('a chart has lines with gaps, shaded outages and a description in words', async () => {
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

  test('a chart of one point, of none or of failures alone is drawn without an error', async () => {
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
