import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { textCard } from '../../../src/bot/shared/card.ts';
import { toAsker } from '../../../src/bot/shared/invocation.ts';
import { createConsole } from '../../../src/console/console.ts';
import { historyCollection } from '../../../src/console/playground/history.ts';
import { isPlaygroundPath } from '../../../src/console/playground/paths.ts';
import type { RootMessage } from '../../../src/console/shared/api-types.ts';
import { createServer } from '../../../src/http/server.ts';
import { LeaseLostError } from '../../../src/store/errors.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { sharedStore } from '../../helpers/console/shared-store.ts';
import {
  BUILT_PAGE,
  listedAt,
  NO_FACTS,
  openTab,
  saying,
  snapshotOf,
  startTestConsole,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const card = (title: string) => textCard('info', title, '');
const post = (title: string) => ({ channel: 'general', card: card(title), id: title });

/** A console without a playground, and its routes. */
async function startServed() {
  const { log } = recordingLog();
  const store = sharedStore(await openTestStore({ log }));
  const kit = await createServer({ log, version: '0.0.0' });
  const routes: Array<{ method: string; url: string }> = [];
  kit.server.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) routes.push({ method: one, url });
  });
  const served = await createConsole({
    ...{ kit, store, botFacts: NO_FACTS, log, pageFolder: BUILT_PAGE },
  });
  const url = await kit.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await kit.close();
    await served.close();
    await store.close();
  });

  const { bot } = await startTestBot({ store });

  /** A tenure of the bot. */
  async function begin(isHeld = () => true) {
    const console = await served.createPlatform({ store, isHeld, log });
    await console.start(bot);
    return console;
  }
  return { url, routes, begin, messages: store.collection(historyCollection) };
}

const place = { id: randomUUID(), channel: 'general' };

/** Valid bodies, so that only the missing playground can be the reason for a refusal. */
const BODIES: Record<string, object> = {
  '/console/sayings': saying('/monitor list'),
  '/console/presses': { ...place, message: 'a1', action: 'incident check?incident=x' },
  '/console/forms': { ...place, command: 'monitor add', values: {} },
  '/console/dismissals': { message: 'a1' },
  '/console/files': { channel: 'general', name: 'a.txt', data: 'YQ==' },
  '/console/name': { name: 'Ann' },
  '/console/channels': { name: 'ops' },
};

test('a process without the bot closes exactly the paths of the playground', async () => {
  const { url, routes } = await startServed();
  const asked = routes.filter(({ method }) => method === 'GET' || method === 'POST');
  for (const { method, url: route } of asked) {
    const path = route.replace(':id', randomUUID()).replace(/:\w+/, 'general');
    const query = path.endsWith('/messages') ? '?before=x' : '?input=monitor&typed=';
    const response =
      method === 'GET'
        ? await fetch(url + path + query)
        : await fetch(url + path, {
            ...{ method, headers: { 'content-type': 'application/json', origin: url } },
            body: JSON.stringify(BODIES[path] ?? {}),
          });
    // The server adds this response for other methods of each path.
    if (response.status === 405) continue;
    const body = await response.text();
    const isOpen = !(response.status === 503 && body.includes('not_open'));
    if (!isOpen) expect(response.headers.get('retry-after')).toBe('1');
    expect([method, path, isPlaygroundPath(path)]).toEqual([method, path, !isOpen]);
  }
  expect(asked.filter(({ url: path }) => isPlaygroundPath(path)).length).toBeGreaterThan(10);
});

test.each(['/', '/console', '/console/eventsource', '/console/account/channels', '/x/events'])(
  '%s is not a path of the playground',
  (path) => expect(isPlaygroundPath(path)).toBe(false),
);

test('a new tenure takes over the routes and begins with the stored messages', async () => {
  const { url, begin } = await startServed();
  const first = await begin();
  const tab = await openTab(url);
  await first.post({ ...post('one'), attempted: false });
  await eventually(() => tab.heard.length === 2);
  await first.stop();
  await eventually(() => tab.ended);
  await expect(openTab(url)).rejects.toThrow('503');

  const console = await begin();
  await console.post({ ...post('two'), attempted: false });
  const again = await openTab(url, { cookie: tab.cookie });
  const { messages, person } = await snapshotOf(again);
  const titles = ['one', 'two'];
  expect(messages.map(({ message }) => message.body)).toMatchObject(
    titles.map((title) => ({ card: card(title) })),
  );
  expect(person).toEqual((await snapshotOf(tab)).person);
  await console.post({ ...post('three'), attempted: false });
  await eventually(() => again.heard.length === 2);
  expect(tab.heard).toHaveLength(2);
});

const STEP = { id: '1', what: 'incidents of the last 7 days', state: 'done' } as const;

test('a new tenure ends the answers that were still growing', async () => {
  const { url, begin, messages } = await startServed();
  const author = { kind: 'askwatch' } as const;
  const root: RootMessage = {
    channel: 'general',
    message: { id: 'p1', author, atMs: 1, body: { kind: 'card', card: card('one') } },
    replies: [
      {
        id: 'a1',
        author,
        atMs: 2,
        body: { kind: 'answer', text: 'So', growing: true, steps: [STEP] },
      },
    ],
  };
  await messages.update('p1', () => root);
  await begin();
  expect(await listedAt(url)).toEqual([root.message]);
  const [reply] = (await messages.get('p1'))?.replies ?? [];
  const note = expect.stringMatching(/Interrupted/);
  expect(reply?.body).toMatchObject({ text: 'So', steps: [STEP], growing: false, note });
});

test('a process that has lost the bot sends nothing and has the page repeat its requests', async () => {
  let isHeld = true;
  const { url } = await startTestConsole({
    isHeld: () => isHeld,
    wrapBot: (bot) => ({
      ...bot,
      async dispatch(_invocation, onStored) {
        onStored?.();
        isHeld = false;
        return toAsker(card('too late'));
      },
    }),
  });
  const tab = await openTab(url);
  await snapshotOf(tab);
  const heard = tab.heard.length;
  const refused = await tab.tell('sayings', saying('/monitor list'));
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect((await fetch(`${url}/console/threads/x`)).status).toBe(503);
  // The person's name was sent before.
  expect(tab.heard.slice(heard).map(({ kind }) => kind)).toEqual(['person']);
});

test('a post that the store refuses because the lease is lost can be sent again', async () => {
  const { console, messages } = await startTestConsole();
  messages.update = () => Promise.reject(new LeaseLostError());
  const posting = console.post({ ...post('late'), attempted: false });
  await expect(posting).rejects.toMatchObject({ name: 'DeliveryError', permanent: false });
});

test('the page hears that nothing was done if the bot could not store an interaction', async () => {
  const { url } = await startTestConsole({
    wrapBot: (bot) => ({ ...bot, dispatch: async () => toAsker(card('Not stored')) }),
  });
  const tab = await openTab(url);
  const refused = await tab.tell('sayings', saying('/monitor list'));
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.text()).toMatch(/nothing was done/);
  expect(await listedAt(url, tab.cookie)).toEqual([]);
});
