import { once } from 'node:events';
import { expect, test } from 'vitest';
import { startRawTarget } from '../fakes/web-target.ts';
import { CLIENTS, callOf, startMcp } from '../helpers/mcp.ts';

test.each(Object.entries(CLIENTS))(
  'A call of %s that is under way when Askwatch is stopped ends, and others are told to come again',
  async (_, connect) => {
    // It takes connections and says nothing.
    const target = await startRawTarget(() => {});
    const { url, key, kit, create, post, stopMcp } = await startMcp();
    await create({
      ...{ name: 'Slow', target: target.url, check_type: 'HTTP' },
      config: { timeout_seconds: 30 },
    });
    const client = await connect(url, key);
    const call = client
      .callTool({ name: 'check_monitor', arguments: { monitor: 'Slow' } })
      .then(({ isError }) => isError)
      .catch(() => true);
    let path = '';
    while (!path.endsWith('/check')) [{ url: path }] = await once(kit.server.server, 'request');
    await stopMcp();
    expect(await call).toBe(true);
    const refused = await post(callOf('list_monitors'));
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    expect(refused.text).toContain('is stopping');
  },
);

test('What was never asked for is not there to be stopped', async () => {
  const { stopMcp } = await startMcp();
  await expect(stopMcp()).resolves.toBeUndefined();
});
