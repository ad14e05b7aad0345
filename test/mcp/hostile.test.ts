import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openKeys } from '../../src/http/keys.ts';
import { sendRaw } from '../helpers/http/running-server.ts';
import { callOf, message, startMcp } from '../helpers/mcp.ts';

type Mcp = Awaited<ReturnType<typeof startMcp>>;
type Answer = { status: number; text: string };
type Send = (mcp: Mcp) => Promise<Answer>;

/** A call of a tool that would tell or change something, if it were let through. */
const list = callOf('list_monitors');
const remove = callOf('remove_monitor', { monitor: 'Backup' });

const over = (body: unknown, sent?: Parameters<Mcp['post']>[1]): Send => {
  return (mcp) => mcp.post(body, sent);
};

/** Sends bytes; what comes back ends with the connection. */
const bytes =
  (write: (mcp: Mcp) => string): Send =>
  async (mcp) => {
    const text = await sendRaw(mcp.url, write(mcp));
    return { status: Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1]), text };
  };

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

/** Each with the status of its answer and what that has to say. */
const HOSTILE: Record<
  string,
  [send: Send, status: number, says: string, options?: Parameters<typeof startMcp>[0]]
> = {
  'no key': [over(list, { key: null }), 401, 'This request needs an API key'],
  'a wrong key': [over(list, { key: `awm_${'x'.repeat(40)}` }), 401, 'not a valid key'],
  'a key in the form of none': [over(list, { key: '../../etc/passwd' }), 401, 'not a valid key'],
  'two different keys': [
    over(list, { headers: { 'x-api-key': `awm_${'x'.repeat(40)}` } }),
    401,
    'more than one API key',
  ],
  'a key of the gateway': [
    async (mcp) => {
      const gateway = await openKeys(mcp.store, 'gateway');
      return mcp.post(list, { key: (await gateway.create('other')).key });
    },
    401,
    'not a valid key for the monitoring service',
  ],
  'a revoked key': [
    async (mcp) => {
      const { key, id } = await mcp.keys.create('gone');
      await mcp.keys.revoke(id);
      return mcp.post(list, { key });
    },
    401,
    'not a valid key',
  ],
  'the page of another site': [
    over(list, { headers: { origin: 'https://evil.example' } }),
    403,
    'Pages of other sites',
  ],
  'a page without an origin': [
    over(list, { headers: { origin: 'null' } }),
    403,
    'Pages of other sites',
  ],
  'a name that leads here': [
    over(list, { headers: { host: 'evil.example:3000' } }),
    403,
    'set PUBLIC_URL',
  ],
  'a name that begins like ours': [
    over(list, { headers: { host: 'localhost.evil.example' } }),
    403,
    'set PUBLIC_URL',
  ],
  'a body of 10 MB': [
    bytes(({ key }) =>
      [
        'POST /mcp HTTP/1.1',
        'Host: localhost',
        `Authorization: Bearer ${key}`,
        'Content-Type: application/json',
        `Content-Length: ${10 * 1024 * 1024}`,
        '',
        '{"jsonrpc":"2.0"',
      ].join('\r\n'),
    ),
    413,
    'too large',
  ],
  'a body of 10 MB that does not say so': [
    bytes(({ key }) =>
      [
        'POST /mcp HTTP/1.1',
        'Host: localhost',
        `Authorization: Bearer ${key}`,
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
        '',
        (2 * 1024 * 1024).toString(16),
        ' '.repeat(2 * 1024 * 1024),
      ].join('\r\n'),
    ),
    413,
    'too large',
  ],
  'torn JSON': [over('{"jsonrpc":"2.0","id":1,"meth'), 400, 'not valid JSON'],
  'an empty body': [over(''), 400, 'The body is empty'],
  'JSON that poisons prototypes': [over('{"__proto__":{"a":1}}'), 400, 'not valid JSON'],
  'a form': [
    over('jsonrpc=2.0', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    415,
    'application/json',
  ],
  text: [
    over(JSON.stringify(list), { headers: { 'content-type': 'text/plain' } }),
    415,
    'application/json',
  ],
  'a client that takes no stream': [
    over(list, { headers: { accept: 'text/html' } }),
    406,
    'must accept both',
  ],
  'a version that nobody speaks': [
    over(list, { headers: { 'mcp-protocol-version': '1999-01-01' } }),
    400,
    'Unsupported protocol version',
  ],
  'no message': [over({ hello: 'there' }), 400, 'not a valid JSON-RPC message'],
  'a message of types that it has not': [
    over({ jsonrpc: '2.0', id: {}, method: 7 }),
    400,
    'not a valid JSON-RPC message',
  ],
  'a number': [over('7'), 400, 'must be an object or a list'],
  'an empty batch': [over([]), 400, 'not valid'],
  'a batch of 21': [over(Array.from({ length: 21 }, () => list)), 400, 'not valid'],
  'a batch of numbers': [over([7]), 400, ''],
  'a batch of a thousand': [
    over(Array.from({ length: 1_000 }, () => remove)),
    400,
    'more than 2000 values',
  ],
  '100,000 values': [
    over(callOf('list_monitors', { text: Array.from({ length: 100_000 }, () => 0) })),
    400,
    'more than 2000 values',
  ],
  '100,000 lists in each other': [over(nested(100_000)), 400, 'nested more than 64 levels deep'],
  'a text of 300 KB': [
    over(callOf('list_monitors', { text: 'x'.repeat(300_000) })),
    413,
    'too large',
  ],
  'a text of 200 KB': [
    over(callOf('list_monitors', { text: 'x'.repeat(200_000) })),
    200,
    'Invalid input for list_monitors: text',
  ],
  'a GET': [over(undefined, { method: 'GET' }), 405, 'Allowed: POST'],
  'a DELETE': [over(undefined, { method: 'DELETE' }), 405, 'Allowed: POST'],
  'the question of a browser whether it may': [
    over(undefined, { method: 'OPTIONS', headers: { origin: 'http://localhost' } }),
    405,
    'Allowed: POST',
  ],
  'an unknown method': [over(message('tools/destroy')), 200, 'Method not found'],
  'a method of the prototype': [over(message('constructor')), 200, 'Method not found'],
  'an unknown tool': [over(callOf('drop_tables')), 200, 'Tools: list_monitors'],
  'a tool of the prototype': [over(callOf('__proto__')), 200, 'Unknown tool'],
  'a tool for channels': [over(callOf('get_usage')), 200, 'Unknown tool'],
  'a tool of the bot': [
    over(callOf('acknowledge_incident', { monitor: 'Backup' })),
    200,
    'Unknown tool',
  ],
  'a tool without a name': [over(message('tools/call', {})), 200, 'Invalid'],
  'an input that is a list': [over(callOf('list_monitors', [1])), 200, 'Invalid'],
  'an input of a wrong type': [
    over(callOf('list_monitors', { limit: 'all' })),
    200,
    'Invalid input for list_monitors: limit',
  ],
  'an input that there is not': [
    over(callOf('list_monitors', { where: '1=1' })),
    200,
    'Invalid input for list_monitors',
  ],
  'an input beyond its limit': [
    over(callOf('list_monitors', { limit: 1e9 })),
    200,
    'Invalid input for list_monitors: limit',
  ],
  'an id with path characters': [
    over(callOf('get_monitor', { monitor: '../../keys/monitoring?x=1#' })),
    200,
    'No monitor called',
  ],
  'a resource that climbs': [
    over(message('resources/read', { uri: 'askwatch://monitors/..%2f..%2fetc%2fpasswd' })),
    200,
    'No resource at',
  ],
  'a resource on the disk': [
    over(message('resources/read', { uri: 'file:///etc/passwd' })),
    200,
    'No resource at',
  ],
  'a resource by a name': [
    over(message('resources/read', { uri: 'askwatch://monitors/Backup' })),
    200,
    'No resource at',
  ],
  'a resource with torn escapes': [
    over(message('resources/read', { uri: 'askwatch://monitors/%e0%a4' })),
    200,
    'No resource at',
  ],
  'an incident that never was': [
    over(message('resources/read', { uri: 'askwatch://incidents/x@2026-01-01T00:00:00Z' })),
    200,
    'No resource at',
  ],
  'an address of 10,000 characters': [
    over(message('resources/read', { uri: `askwatch://monitors/${'x'.repeat(10_000)}` })),
    200,
    'No resource at',
  ],
  'a cursor of its own making': [
    over(message('resources/list', { cursor: '-1; drop' })),
    200,
    'Unknown cursor',
  ],
  'a prompt': [over(message('prompts/get', { name: 'x' })), 200, 'Method not found'],
  'a write where writes are off': [over(remove), 200, 'allow them with MCP_WRITES'],
  'a write with a key that can only read': [
    async (mcp) => mcp.post(remove, { key: await mcp.createKey({ readOnly: true }) }),
    200,
    'this key is read-only, and remove_monitor needs a key that can write',
    { writes: true },
  ],
  'a check with a key that can only read': [
    async (mcp) =>
      mcp.post(callOf('check_monitor', { monitor: 'Backup' }), {
        key: await mcp.createKey({ readOnly: true }),
      }),
    200,
    'this key is read-only',
  ],
};

describe('A hostile call gets a clear error and changes nothing', () => {
  async function startWithJob(options: Parameters<typeof startMcp>[0]) {
    const mcp = await startMcp(options);
    await mcp.create({ name: 'Backup', target: 'backup', check_type: 'HEARTBEAT' });
    return mcp;
  }

  let usual: Mcp;
  beforeAll(async () => {
    usual = await startWithJob({ atEnd: afterAll });
  });

  test.each(Object.entries(HOSTILE))('%s', async (_, [send, status, says, options]) => {
    const mcp = options ? await startWithJob(options) : usual;
    const before = await mcp.list();
    const answer = await send(mcp);
    expect(answer.status, answer.text).toBe(status);
    expect(answer.text).toMatch(says);
    expect(answer.text).toMatch(/"error"|"isError":true/);
    // No stack, no path of ours, no key.
    expect(answer.text).not.toMatch(/\.[cm]?[jt]s:\d+|node_modules|awm_\w{40}/);
    expect(await mcp.list()).toEqual(before);
    expect(mcp.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
    expect((await mcp.post(list)).text).toContain('"total":1');
  });
});
