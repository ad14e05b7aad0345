import { expect, onTestFinished, test, vi } from 'vitest';
import { createCatalog } from '../../../src/bot/ask/catalog.ts';
import { createSuggest } from '../../../src/bot/commands/suggest.ts';
import { createGatewayClient } from '../../../src/clients/gateway.ts';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

/** Suggestions over a service, at a time that stands still until it is moved. */
async function start() {
  const { log, lines } = recordingLog();
  const provider = await startModelProvider();
  const service = await startMonitoringService({ limit: false });
  const gateway = createGatewayClient({
    baseUrl: provider.url,
    apiKey: provider.apiKey,
  });
  // Suggestions don't wait as long as this client.
  const monitoring = createMonitoringClient({
    baseUrl: service.url,
    apiKey: service.apiKey,
    timeoutMs: 600_000,
  });
  const time = { nowMs: 0 };
  vi.spyOn(performance, 'now').mockImplementation(() => time.nowMs);
  onTestFinished(async () => {
    vi.restoreAllMocks();
    await Promise.all([gateway.close(), monitoring.close()]);
    await Promise.all([provider.close(), service.close()]);
  });
  const catalog = createCatalog({ gateway, log });
  const suggest = createSuggest({ monitoring, catalog, log });
  const names = async (typed: string) => (await suggest('filter', typed)).map(({ value }) => value);
  return { suggest, names, service, time, lines };
}

test('suggestions follow every letter, and the service is called only when the list is no longer fresh', async () => {
  const { names, service, time } = await start();
  service.add({ name: 'Shop' });
  for (const typed of ['', 's', 'sh', 'sho', 'shop ']) expect(await names(typed)).toEqual(['Shop']);
  expect(service.requests).toHaveLength(1);
  service.add({ name: 'Shoes' });
  time.nowMs = 9_999;
  expect(await names('sho')).toEqual(['Shop']);
  time.nowMs = 10_000;
  expect(await names('sho')).toEqual(['Shoes', 'Shop']);
  expect(service.requests).toHaveLength(2);
});

test('suggestions for tags complete the last one of a line', async () => {
  const { suggest, service } = await start();
  service.add({ name: 'Shop', tags: ['eu', 'web'] });
  service.add({ name: 'Blog', tags: ['us', 'web'] });
  const tags = async (typed: string) => (await suggest('tags', typed)).map(({ value }) => value);
  expect(await tags('')).toEqual(['eu', 'us', 'web']);
  expect(await tags('E')).toEqual(['eu']);
  expect(await tags('eu, w')).toEqual(['eu,web']);
  expect(await tags('x')).toEqual([]);
});

test('the last list is offered while the service hangs or fails, and the service is not called again at once', async () => {
  const { names, service, time } = await start();
  service.add({ name: 'Shop' });
  expect(await names('')).toEqual(['Shop']);
  service.failWith({ kind: 'hang' }, 1);
  time.nowMs = 10_000;
  expect(await names('')).toEqual(['Shop']);
  expect(await names('s')).toEqual(['Shop']);
  expect(service.requests).toHaveLength(2);
});

test('suggestions never hold a target’s password, and other inputs have none', async () => {
  const { suggest, service } = await start();
  service.add({ name: 'Shop', target: 'https://me:secret@shop.example' });
  const [shop] = await suggest('monitor', 'shop');
  expect(shop?.label).toBe('Shop · UP · https://shop.example');
  expect(await suggest('token', '')).toEqual([]);
  expect(await suggest('constructor', '')).toEqual([]);
});
