import { expect, onTestFinished, test } from 'vitest';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { startService } from '../../helpers/monitoring/service.ts';

test('more monitors than an answer holds come one part after another, each once', async () => {
  const service = await startService();
  const ids: string[] = [];
  for (let index = 0; index < 501; index += 1) {
    const job = { name: `job ${index}`, target: 'job', check_type: 'HEARTBEAT' };
    ids.push((await service.create(job)).id);
  }
  ids.sort();
  const client = createMonitoringClient({ baseUrl: service.url, apiKey: service.key });
  onTestFinished(() => client.close());
  const first = await client.days({ days: 7 });
  expect(first.monitors.map(({ id }) => id)).toEqual(ids.slice(0, 500));
  expect(first.next).toBe(ids[499]);
  expect(first.monitors[0]).toEqual({ id: ids[0], up_ms: [], down_ms: [] });
  const second = await client.days({ days: 7, after: first.next ?? '' });
  expect(second.monitors.map(({ id }) => id)).toEqual(ids.slice(500));
  // The one that the rest comes after may be gone by then.
  await client.remove(first.next ?? '');
  const rest = await client.days({ days: 7, after: first.next ?? '' });
  expect(rest.monitors.map(({ id }) => id)).toEqual(ids.slice(500));
  expect(rest.next).toBeNull();
});
