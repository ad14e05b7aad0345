import { expect } from 'vitest';
import type { Service } from './service.ts';

const MONITORS = '/api/v1/public/monitors';

/** So long before a window begins, and so long does it last. */
const BEFORE_MS = 700;
const LASTS_MS = 700;

/**
 * Gives monitors that nothing has checked a window that begins in a moment, and reads them all the while, from each of the services in turn:
 * by its clock before and after each request every list says what it must.
 */
export async function expectWindowToShow(services: readonly Service[], ids: readonly string[]) {
  const utc = (ms: number) => new Date(ms).toISOString();
  async function setWindows(windows: object[]) {
    for (const [at, id] of ids.entries()) {
      const service = services[at % services.length];
      const json = { windows };
      const answer = await service?.call('PUT', `${MONITORS}/${id}/maintenance`, { json });
      expect(answer?.status).toBe(200);
    }
  }
  // A busy machine takes longer.
  const triedMs = Date.now();
  await setWindows([]);
  const startMs = Date.now() + BEFORE_MS + 3 * (Date.now() - triedMs);
  const endMs = startMs + LASTS_MS;
  await setWindows([{ starts_at: utc(startMs), ends_at: utc(endMs) }]);
  const seen = new Set<string>();
  for (let turn = 0; Date.now() < endMs + 100; turn += 1) {
    const askedMs = Date.now();
    const monitors = await services[turn % services.length]?.list();
    const answeredMs = Date.now();
    const statuses = [...new Set(monitors?.map(({ status }) => status))];
    for (const status of statuses) seen.add(status);
    const when = `asked ${askedMs - startMs} ms after its begin, answered ${answeredMs - startMs} ms`;
    if (askedMs >= startMs && answeredMs < endMs) expect(statuses, when).toEqual(['MAINTENANCE']);
    if (answeredMs < startMs || askedMs >= endMs) expect(statuses, when).toEqual(['PENDING']);
  }
  expect([...seen].sort()).toEqual(['MAINTENANCE', 'PENDING']);
}
