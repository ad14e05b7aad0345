import { expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import { People, peopleCollection } from '../../../src/console/playground/people.ts';
import type { ConsolePerson } from '../../../src/console/shared/api-types.ts';
import type { HttpReply, HttpRequest } from '../../../src/http/server-types.ts';
import { privateMessages } from '../../helpers/console/messages.ts';
import {
  listedAt,
  openTab,
  repliesOf,
  snapshotOf,
  startTestConsole,
  type Tab,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const me = async (tab: Tab) => (await snapshotOf(tab)).person;

/** Waits for a public message, so that all earlier events have arrived. */
async function waitForEveryone(from: Tab, ...tabs: Tab[]) {
  const said = await from.say('/monitor list');
  const id = said.shown === 'channel' ? said.message : '';
  for (const tab of tabs) await eventually(() => JSON.stringify(tab.heard).includes(id));
}

const renamed = (tab: Tab, name: string) => tab.tell('name', { name });

test('each browser is a person, known by a cookie that no script reads and no other site sends', async () => {
  const { url } = await startTestConsole();
  const response = await fetch(`${url}/console/threads/none`);
  const [cookie = ''] = response.headers.getSetCookie();
  expect(cookie).toMatch(/^askwatch-person=[\w-]{43}; /);
  expect(cookie).toMatch(/; HttpOnly/);
  expect(cookie).toMatch(/; SameSite=Strict/);
  expect(cookie).toMatch(/; Path=\/;/);
  expect(cookie).toMatch(/; Max-Age=34560000/);
  expect(cookie).not.toMatch(/Secure/);
  const headers = { 'x-forwarded-proto': 'https' };
  const proxied = await fetch(`${url}/console/threads/none`, { headers });
  expect(proxied.headers.getSetCookie()[0]).toMatch(/; Secure/);

  const [ann, bob] = [await openTab(url), await openTab(url)];
  const second = await openTab(url, { cookie: `other=1; ${ann.cookie}; more=2` });
  expect(await me(second)).toEqual(await me(ann));
  expect((await me(bob)).id).not.toBe((await me(ann)).id);
  expect((await me(bob)).name).not.toBe((await me(ann)).name);
  const again = await fetch(`${url}/console/threads/none`, { headers: { cookie: ann.cookie } });
  expect(again.headers.getSetCookie()).toEqual([]);
});

test('a browser stays the same person over a restart, and the stored data does not contain its cookie', async () => {
  const folder = await temporaryFolder();
  const before = await startTestConsole({ folder });
  const tab = await openTab(before.url);
  await tab.say('/monitor list');
  const person = await me(tab);
  await before.stop();
  const { log } = recordingLog();
  const store = await openTestStore({ folder, log });
  const kept = JSON.stringify(await store.collection(peopleCollection).list());
  await store.close();
  expect(kept).toContain(person.id);
  expect(kept).not.toContain(tab.cookie.split('=')[1]);
  const after = await startTestConsole({ folder });
  expect(await me(await openTab(after.url, { cookie: tab.cookie }))).toEqual(person);
});

test('a browser is stored when it first writes something, and not for visits', async () => {
  const folder = await temporaryFolder();
  const started = await startTestConsole({ folder });
  const { url } = started;
  const other = await openTab(url);
  for (let count = 0; count < 300; count++) {
    const tab = count % 10 === 0 ? await openTab(url) : undefined;
    await fetch(`${url}/console/threads/none`);
    tab?.close();
  }
  const dismissal = { method: 'POST', body: JSON.stringify({ message: 'none' }) };
  const headers = { 'content-type': 'application/json', origin: url };
  await fetch(`${url}/console/dismissals`, { ...dismissal, headers });
  const first = await openTab(url);
  const before = await me(first);
  expect((await snapshotOf(first)).people).toEqual([]);
  await first.say('/monitor list');
  // The name that the page has shown from the start.
  await eventually(() => other.heard.some((event) => event.kind === 'person'));
  expect(other.heard.filter(({ kind }) => kind === 'person')).toEqual([
    { kind: 'person', person: before },
  ]);
  await started.stop();
  const { log } = recordingLog();
  const store = await openTestStore({ folder, log });
  const kept = await store.collection(peopleCollection).list();
  expect(kept.map(({ document: { id, name } }) => ({ id, name }))).toEqual([before]);
  await store.close();
});

test('nobody gets the outcome of another person’s interaction by its id', async () => {
  const { url } = await startTestConsole();
  const [ann, bob] = [await openTab(url), await openTab(url)];
  const id = '00000000-0000-4000-8000-000000000001';
  expect(await ann.say('/ask private=true secret?', { id })).toMatchObject({ shown: 'channel' });
  expect(await bob.say('/ask private=true secret?', { id })).toEqual({ shown: 'nothing' });
});

test('all tabs of a person show a private message, and nobody else’s', async () => {
  const { url } = await startTestConsole();
  const [ann, bob] = [await openTab(url), await openTab(url)];
  const second = await openTab(url, { cookie: ann.cookie });
  await ann.say('/monitor show nothing');
  for (const tab of [ann, second]) await eventually(() => privateMessages(tab).length === 1);
  await waitForEveryone(bob, bob);
  expect(privateMessages(bob)).toEqual([]);
  const [own] = await listedAt(url, ann.cookie);
  expect(own).toEqual(privateMessages(ann)[0]);
  expect((await listedAt(url, bob.cookie)).some((message) => message.private)).toBe(false);
});

test('only its person can dismiss a private message of a thread, in all their tabs', async () => {
  const { url, console } = await startTestConsole();
  const card = { tone: 'info' as const, title: 'x', parts: [] };
  const { thread } = await console.post({ channel: 'general', card, id: 'a', attempted: false });
  const [ann, bob] = [await openTab(url), await openTab(url)];
  await ann.say('/monitor show nothing', { thread });
  const [own] = await eventually(() => privateMessages(ann).length > 0 && privateMessages(ann));
  expect(await repliesOf(url, thread, ann.cookie)).toEqual([own]);
  expect(await repliesOf(url, thread, bob.cookie)).toEqual([]);

  const dismissal = { message: own?.id };
  expect((await bob.tell('dismissals', dismissal)).status).toBe(200);
  expect(await repliesOf(url, thread, ann.cookie)).toEqual([own]);
  const second = await openTab(url, { cookie: ann.cookie });
  expect((await ann.tell('dismissals', dismissal)).status).toBe(200);
  await eventually(() => second.heard.some(({ kind }) => kind === 'removed'));
  expect(await repliesOf(url, thread, ann.cookie)).toEqual([]);
  await waitForEveryone(bob, bob);
  expect(bob.heard.some(({ kind }) => kind === 'removed')).toBe(false);
});

test('a private answer keeps growing for a person who reconnects', async () => {
  const { url, provider } = await startTestConsole();
  provider.answerWith(['Just ', 'between us.']);
  const goOn = provider.holdChunks(1);
  const ann = await openTab(url);
  await ann.say('/ask private=true what?');
  await eventually(() => ann.heard.some(({ kind }) => kind === 'text'));
  ann.close();
  const again = await openTab(url, { cookie: ann.cookie });
  const [growing] = (await snapshotOf(again)).messages;
  expect(growing?.message.body).toMatchObject({ text: 'Just ', growing: true });
  goOn();
  const { body } = await eventually(() => privateMessages(again).at(-1));
  expect(body).toMatchObject({ text: 'Just between us.', growing: false });
});

test('the bot hears of a private answer that nobody could see', async () => {
  const { url, console, bot: real, provider } = await startTestConsole();
  let notShown = 0;
  const bot: Bot = {
    ...real,
    async dispatch(invocation, onStored) {
      const reply = await real.dispatch(invocation, onStored);
      if (reply.kind !== 'answer') return reply;
      return {
        ...reply,
        notShown() {
          notShown += 1;
        },
      };
    },
  };
  await console.start(bot);
  const [ann, bob] = [await openTab(url), await openTab(url)];
  await ann.say('/ask private=true seen?');
  await eventually(() =>
    privateMessages(ann).some(({ body }) => body.kind === 'answer' && !body.growing),
  );
  expect(notShown).toBe(0);
  const goOn = provider.holdChunks();
  await bob.say('/ask private=true unseen?');
  bob.close();
  await waitForEveryone(ann, ann);
  goOn();
  await eventually(() => notShown === 1);
});

test('a new name is cleaned, sent to everyone and kept over a restart', async () => {
  const folder = await temporaryFolder();
  const before = await startTestConsole({ folder });
  const [ann, bob] = [await openTab(before.url), await openTab(before.url)];
  const { id } = await me(ann);
  const answer = await renamed(ann, '  Ann\u202e\u0000 \n  Lee ');
  const person = { id, name: 'Ann Lee' };
  expect((await answer.json()) as ConsolePerson).toEqual(person);
  await eventually(() =>
    bob.heard.some((event) => event.kind === 'person' && event.person.name === 'Ann Lee'),
  );
  await before.stop();
  const after = await startTestConsole({ folder });
  const { people } = await snapshotOf(await openTab(after.url, { cookie: bob.cookie }));
  expect(people).toContainEqual(person);
});

test('a name that is not allowed or taken is refused with a sentence', async () => {
  const { url } = await startTestConsole();
  const [ann, bob] = [await openTab(url), await openTab(url)];
  await renamed(bob, 'Bob');
  expect((await renamed(ann, '👩'.repeat(32))).status).toBe(200);
  for (const name of ['', '   ', '\u200b\u202e', 'x'.repeat(33), 'Bob', 'bOB', 'askwatch']) {
    const answer = await renamed(ann, name);
    expect([name, answer.status]).toEqual([name, 422]);
    const { error } = (await answer.json()) as { error: { message: string } };
    expect(error.message).toMatch(/Names have 1 to 32 characters|Choose another name/);
  }
});

test('the people who have been away longest are evicted', async () => {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  const collection = store.collection(peopleCollection);
  let nowMs = 0;
  const options = { streams: { send() {} }, log, nowMs: () => nowMs, maxPeople: 3 };
  const people = await People.open(collection, options);
  const come = async (letter: string) => {
    nowMs += 100_000_000;
    const request = { headers: { cookie: `askwatch-person=${letter.repeat(43)}` } } as HttpRequest;
    return await people.of(request, {} as HttpReply);
  };
  const [a] = [await come('a'), await come('b'), await come('c')];
  expect(await come('a')).toEqual(a);
  await come('d');
  expect(people.all().map(({ name }) => name)).toEqual(['Guest 1', 'Guest 3', 'Guest 4']);
  expect(await collection.list()).toHaveLength(3);
  await store.close();
});
