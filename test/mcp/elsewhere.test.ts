import { expect, test } from 'vitest';
import { addMcpElsewhere } from '../../src/mcp/mcp.ts';
import { post, runningServer } from '../helpers/http/running-server.ts';
import { callOf } from '../helpers/mcp.ts';

test.each([
  [true, 'MONITORING_BASE_URL'],
  [false, 'ASKWATCH_ROLES'],
])(
  'Where the monitors are not here (elsewhere: %j), the path says so',
  async (isElsewhere, name) => {
    const { ask } = await runningServer((kit) => addMcpElsewhere({ kit, isElsewhere }));
    const { status, body } = await ask('/mcp', post(callOf('list_monitors')));
    expect(status).toBe(404);
    expect(body.error.message).toContain(name);
    expect((await ask('/mcp', post('{'))).status).toBe(404);
    expect((await ask('/mcp')).status).toBe(405);
  },
);
