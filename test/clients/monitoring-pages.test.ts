import { createServer, type Server } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { ContractError } from '../../src/clients/errors.ts';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import { counting } from '../helpers/bot/stepped-watch.ts';
import { listen } from '../helpers/http/listen.ts';

const COUNT = 20_001;
const monitors = Array.from({ length: COUNT }, (_, at) =>
  counting(`mon_${String(at).padStart(6, '0')}`, 0, {
    target: `https://host-${at}.example.com/${'a'.repeat(150)}`,
  }),
);

/** A client of a server that listens until the test has finished. */
async function clientOf(server: Server) {
  const baseUrl = `http://127.0.0.1:${await listen(server)}`;
  const client = createMonitoringClient({ baseUrl, apiKey: 'a-key' });
  onTestFinished(() => client.close());
  return client;
}

/** A service with a list of 6 MB; `cursors` says whether it tells changes, and so has pages. */
async function startLong({ cursors, next }: { cursors: boolean; next?: string }) {
  const asked: string[] = [];
  let given = 0;
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://service');
    asked.push(`${searchParams}`);
    given += 1;
    if (cursors) response.setHeader('x-monitors-cursor', `cursor ${given}`);
    const limit = Number(searchParams.get('limit') ?? COUNT);
    const rest = monitors.filter(({ id }) => id > (searchParams.get('after') ?? ''));
    const page = cursors ? rest.slice(0, limit) : monitors;
    const last = rest.length > page.length ? (next ?? page.at(-1)?.id) : null;
    const own = { count: page.length, monitors: page };
    const bytes = Buffer.from(
      JSON.stringify(searchParams.has('limit') ? { ...own, next: last } : own),
    );
    response.setHeader('content-length', bytes.length);
    response.end(bytes);
  });
  const client = await clientOf(server);
  return { client, asked };
}

test('a long list of a service that has pages is read in those, whose first has the cursor', async () => {
  const { client, asked } = await startLong({ cursors: true });
  const cursors: string[] = [];
  const list = () => client.list({ onCursor: (cursor) => cursors.push(cursor) });
  const pages = ['', '&after=mon_009999', '&after=mon_019999'].map(
    (after) => `include_paused=true&limit=10000${after}`,
  );
  expect((await list()).map(({ id }) => id)).toEqual(monitors.map(({ id }) => id));
  expect(asked.splice(0)).toEqual(['include_paused=true', ...pages]);
  expect((await list()).length).toBe(COUNT);
  expect(asked).toEqual(pages);
  expect(cursors).toEqual(['cursor 2', 'cursor 5']);
});

test('a long list of a service of the contract alone is read whole', async () => {
  const { client, asked } = await startLong({ cursors: false });
  for (let poll = 0; poll < 2; poll += 1) expect((await client.list()).length).toBe(COUNT);
  expect(asked).toEqual(['include_paused=true', 'include_paused=true']);
});

test('pages that do not go on are no list', async () => {
  const { client } = await startLong({ cursors: true, next: 'mon_000000' });
  await expect(client.list()).rejects.toThrow(ContractError);
});

test('the list of a service that refuses paused monitors is read without them from then on', async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://service').search;
    asked.push(query);
    response.statusCode = query === '' ? 200 : 400;
    response.end(JSON.stringify({ count: 1, monitors: monitors.slice(0, 1) }));
  });
  const client = await clientOf(server);
  for (let poll = 0; poll < 2; poll += 1) expect(await client.list()).toHaveLength(1);
  expect(asked).toEqual(['?include_paused=true', '', '']);
});
