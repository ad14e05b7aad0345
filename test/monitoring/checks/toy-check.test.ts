import { createServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { monitorOfType, probeSettings } from '../../../src/contracts/monitoring.ts';
import { invalidValue } from '../../../src/http/errors.ts';
import type { CheckedMonitor, ProbedType } from '../../../src/monitoring/checks/check-type.ts';
import { createCheckTypes, SHIPPED_TYPES } from '../../../src/monitoring/checks/registry.ts';
import { admitHost } from '../../../src/monitoring/checks/target.ts';
import { startService } from '../../helpers/monitoring/service.ts';

/** PORT, a type of check that the program does not have: UP while something accepts connections at `host:port`. */
const port: ProbedType = {
  schema: monitorOfType('PORT', z.strictObject(probeSettings).prefault({})),
  async admit({ target }, tools) {
    if (!/^[^:]+:\d{1,5}$/.test(target)) {
      throw invalidValue('target', 'must be a host and a port, such as db:5432');
    }
    await admitHost(hostOf(target), tools);
  },
  limitedHost: ({ target }) => hostOf(target),
  contactedHost: ({ target }) => hostOf(target),
  async probe({ target }, context, { connect }) {
    // The guarded way to a socket, and the sentences for what can go wrong, come with the tools.
    const socket = await connect(new URL(`http://${target}`), context, { ignoreTls: true });
    socket.destroy();
  },
};

const hostOf = (target: CheckedMonitor['target']) => target.split(':')[0] ?? '';

const types = createCheckTypes([...SHIPPED_TYPES, port]);

/** Listens on loopback, on any port or on this one. */
async function listen(at = 0): Promise<{ server: Server; at: number }> {
  const server = createServer((socket) => socket.destroy());
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  return { server, at: (server.address() as { port: number }).port };
}

test('a type of check from outside is created over the API, checked, and goes DOWN and UP', async () => {
  const { server, at } = await listen();
  const { call, create, metrics } = await startService({ types });
  const config = { interval_seconds: 3600, confirm_down: 1, degraded_after_ms: 3_000 };
  const monitor = { name: 'Database', check_type: 'PORT', target: `127.0.0.1:${at}`, config };
  const { id } = await create(monitor);
  const checkNow = async () => (await call('POST', `/api/v1/public/monitors/${id}/check`)).body;

  expect(await checkNow()).toMatchObject({
    check_type: 'PORT',
    target: `127.0.0.1:${at}`,
    status: 'UP',
    interval_seconds: 3600,
    config: { ...config, confirm_up: 1 },
  });
  await new Promise((resolve) => server.close(resolve));
  const down = await checkNow();
  expect(down).toMatchObject({ status: 'DOWN', incident: { outcome: 'connection' } });
  expect(down.status_reason).toContain(`connection refused by 127.0.0.1:${at}`);
  await listen(at);
  expect(await checkNow()).toMatchObject({ status: 'UP', incident: null, status_changes: 2 });
  expect(await metrics()).toContain('askwatch_checks_total{type="PORT",outcome="connection"}');
});

test('a type of check from outside is changed, refused by its own sentence, and read again at a start', async () => {
  const first = await startService({ types });
  const config = { interval_seconds: 60, degraded_after_ms: 500 };
  const { id } = await first.create({
    ...{ name: 'Cache', check_type: 'PORT', target: '127.0.0.1:1', config },
  });
  const path = `/api/v1/public/monitors/${id}`;
  const changed = await first.call('PATCH', path, {
    json: { config: { degraded_after_ms: null, confirm_down: 3 } },
  });
  expect(changed.body.config).not.toHaveProperty('degraded_after_ms');
  expect(changed.body.config).toMatchObject({ interval_seconds: 60, confirm_down: 3 });
  const unknown = await first.call('PATCH', path, { json: { config: { keyword: null } } });
  expect(unknown.status).toBe(400);
  const target = await first.call('PATCH', path, { json: { target: 'nothing' } });
  expect(target.body.error).toMatchObject({ param: 'target' });
  expect(target.body.error?.message).toContain('must be a host and a port, such as db:5432');
  const guarded = await first.call('PATCH', path, { json: { target: '10.1.2.3:5432' } });
  expect(guarded.body.error).toMatchObject({ code: 'target_not_allowed', param: 'target' });
  await first.close();

  const second = await startService({ types, folder: first.folder });
  expect(await second.list()).toMatchObject([{ id, check_type: 'PORT', target: '127.0.0.1:1' }]);
});

test('a type of check that there is not is refused with the names of those there are', async () => {
  const { call } = await startService();
  const monitor = { name: 'Database', check_type: 'PORT', target: '127.0.0.1:1' };
  const { status, body } = await call('POST', '/api/v1/public/monitors', { json: monitor });
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ param: 'check_type' });
});
