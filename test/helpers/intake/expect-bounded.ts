import { expect } from 'vitest';
import type { ReportedAlerts } from '../../../src/bot/intake/reported-alert.ts';
import { oneLine } from '../../../src/contracts/one-line.ts';

/** Expects that nothing of a delivery is longer than it may be, that every text is one good line, and every link is of the web. */
export function expectBounded({ alerts, truncated }: ReportedAlerts) {
  expect(alerts.length).toBeLessThanOrEqual(10_000);
  expect(truncated).toBeGreaterThanOrEqual(0);
  for (const alert of alerts) {
    expectLine(alert.key, 255);
    expectLine(alert.name, 255);
    if (alert.summary !== undefined) expectLine(alert.summary, 1_000);
    expect(alert.facts.length).toBeLessThanOrEqual(40);
    for (const { label, value } of alert.facts) {
      expectLine(label, 60);
      expectLine(value, 300);
    }
    expect(alert.links.length).toBeLessThanOrEqual(5);
    for (const { label, url } of alert.links) {
      expectLine(label, 60);
      expect(url.length).toBeLessThanOrEqual(2_000);
      expect(url).toMatch(/^https?:\/\/[^@/]+(?:[/?#]|$)/);
    }
    const { startedAtMs, endedAtMs } = alert;
    for (const ms of [startedAtMs, endedAtMs]) {
      if (ms !== undefined) expect(Number.isFinite(ms) && ms > 0).toBe(true);
    }
    if (startedAtMs !== undefined && endedAtMs !== undefined) {
      expect(endedAtMs).toBeGreaterThanOrEqual(startedAtMs);
    }
    if (alert.labels) {
      expect(JSON.stringify(alert.labels).length).toBeLessThan(120_000);
      expect(Object.getPrototypeOf(alert.labels)).toBe(Object.prototype);
    }
  }
}

function expectLine(text: string, maxLength: number) {
  if (text === '' || text.length > maxLength || oneLine(text) !== text) {
    expect(text, 'is one line that is not too long').toBe(oneLine(text).slice(0, maxLength));
    expect(text).not.toBe('');
  }
}
