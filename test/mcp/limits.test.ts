import { expect, test } from 'vitest';
import { callOf, message, startMcp } from '../helpers/mcp.ts';

const list = callOf('list_monitors');

test('Calls beyond the limit of the key are told when to try again, and another key goes on', async () => {
  const { post, createKey, call } = await startMcp();
  const key = await createKey();
  const answers: string[] = [];
  for (let n = 0; n < 12; n += 1) {
    const round = Array.from({ length: 11 }, () => post(list, { key }));
    answers.push(...(await Promise.all(round)).map(({ text }) => text));
  }
  const refused = answers.filter((text) => text.includes('"isError":true'));
  expect(refused).toHaveLength(12);
  for (const text of refused) {
    expect(text).toMatch(/More than 120 requests in a minute\. Wait \d+ s .* try again\./);
  }
  // MCP calls share the service's limit.
  expect((await call('GET', '/api/v1/public/monitors', { key })).status).toBe(429);
  expect((await post(list)).text).toContain('"total":0');
});

test('Messages that call nothing have a limit, too', async () => {
  const { post } = await startMcp();
  const statuses: number[] = [];
  for (let n = 0; n < 31; n += 1) {
    const round = Array.from({ length: 10 }, () => post(message('ping')));
    statuses.push(...(await Promise.all(round)).map(({ status }) => status));
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(300);
  const refused = await post(message('ping'));
  expect(refused.status).toBe(429);
  expect(refused.text).toContain('More than 300 messages in a minute');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
});

test('Each message of a batch is answered, and counts', async () => {
  const { post } = await startMcp();
  const ping = (id: number) => ({ ...message('ping'), id });
  const batch = Array.from({ length: 20 }, (_, id) => ping(id));
  const { text } = await post(batch);
  const ids = [...text.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));
  expect(ids.toSorted((a, b) => a - b)).toEqual(batch.map(({ id }) => id));
  for (let n = 1; n < 15; n += 1) expect((await post(batch)).status).toBe(200);
  expect((await post(ping(1))).status).toBe(429);
});

test('Wrong keys are counted, and then refused unread', async () => {
  const { post } = await startMcp();
  const key = `awm_${'x'.repeat(40)}`;
  let tries = 0;
  while ((await post(list, { key })).status === 401) tries += 1;
  expect(tries).toBe(60);
  expect((await post(list, { key })).text).toContain('Too many requests without a valid key');
});

test('Calls share their connections to the service, and the answers of one key are not those of another', async () => {
  const { post, createKey, kit } = await startMcp();
  const ofService = new Set<unknown>();
  kit.server.server.on('request', ({ url, socket }) => {
    if (url?.startsWith('/api/')) ofService.add(socket);
  });
  const reader = await createKey({ readOnly: true });
  for (let n = 0; n < 20; n += 1) {
    const key = n % 2 === 0 ? reader : await createKey();
    const { text } = await post(callOf('list_monitors'), { key });
    expect(text).toContain('"total":0');
  }
  expect(ofService.size).toBe(1);
});

test('An answer is not waited for by whoever has gone, and the log says nothing of it', async () => {
  const { url, key, lines, post, createKey } = await startMcp();
  const leaving = new AbortController();
  const asked = fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${key}`,
    },
    body: JSON.stringify(list),
    signal: leaving.signal,
  });
  leaving.abort();
  await expect(asked).rejects.toThrow();
  expect((await post(list, { key: await createKey() })).text).toContain('"total":0');
  expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});
