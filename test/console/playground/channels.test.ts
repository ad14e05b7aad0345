import { expect, test } from 'vitest';
import type {
  ConsoleEvent,
  OlderMessages,
  RootMessage,
} from '../../../src/console/shared/api-types.ts';
import {
  openTab,
  snapshotOf,
  startTestConsole,
  type Tab,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const create = (tab: Tab, name: string) => tab.tell('channels', { name });

function stored(channel: string, count: number, fromMs = 0): RootMessage[] {
  return Array.from({ length: count }, (_, index) => ({
    channel,
    message: {
      id: `${channel}${index}`,
      author: { kind: 'askwatch' },
      atMs: fromMs + index,
      body: { kind: 'card', card: { tone: 'info', title: `${channel} ${index}`, parts: [] } },
    },
    replies: [],
  }));
}

test('a channel is created once, sent to everyone and kept over a restart', async () => {
  const folder = await temporaryFolder();
  const before = await startTestConsole({ folder });
  const [ann, bob] = [await openTab(before.url), await openTab(before.url)];
  expect(await (await create(ann, ' #Ops Europe ')).json()).toEqual({ channel: 'ops-europe' });
  expect(await (await create(bob, 'ops-europe')).json()).toEqual({ channel: 'ops-europe' });
  const isNews = (event: ConsoleEvent) => event.kind === 'channel';
  await eventually(() => bob.heard.some(isNews));
  expect(bob.heard.filter(isNews)).toEqual([{ kind: 'channel', channel: 'ops-europe' }]);
  await ann.say('/monitor list', { channel: 'ops-europe' });
  await before.stop();

  const after = await startTestConsole({ folder });
  const { channels, messages } = await snapshotOf(await openTab(after.url));
  expect(channels).toEqual(['general', 'ops-europe']);
  expect(messages.map(({ channel }) => channel)).toEqual(['ops-europe']);
});

test('a channel with an invalid name is refused with a sentence', async () => {
  const { url } = await startTestConsole();
  const tab = await openTab(url);
  for (const name of ['', '#', 'a/b', 'a.b', '<b>', 'x'.repeat(41), '\u202eops', 'a:b', '😀']) {
    const answer = await create(tab, name);
    expect([name, answer.status]).toEqual([name, 422]);
    expect(await answer.json()).toMatchObject({
      error: { message: expect.stringContaining('1–40 lowercase letters') },
    });
  }
  expect((await snapshotOf(await openTab(url))).channels).toEqual(['general']);
});

test('a channel may have letters of any script, and there are fifty at most', async () => {
  const { url } = await startTestConsole();
  const tab = await openTab(url);
  const names = ['störung', '障害', ...Array.from({ length: 47 }, (_, index) => `c${index}`)];
  for (const name of names) expect([name, (await create(tab, name)).status]).toEqual([name, 200]);
  const refused = await create(tab, 'one-more');
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({
    error: { message: 'There are already 50 channels. Use one of them.' },
  });
  expect((await snapshotOf(await openTab(url))).channels).toHaveLength(50);
});

test('a channel does not accept a line for a thread of another channel', async () => {
  const { url, console } = await startTestConsole({ channels: ['ops'] });
  const card = { tone: 'info' as const, title: 'x', parts: [] };
  const { thread } = await console.post({ channel: 'ops', card, id: 'a', attempted: false });
  const tab = await openTab(url);
  await expect(tab.say('/monitor list', { thread })).rejects.toThrow('404');
});

test('older messages come in pages, for each channel separately', async () => {
  const all = [...stored('general', 120), ...stored('ops', 50, 1_000)];
  const { url } = await startTestConsole({ stored: all, channels: ['ops'] });
  const { messages, older } = await snapshotOf(await openTab(url));
  expect(older).toEqual(['general']);
  expect(messages).toHaveLength(100);
  expect(messages[0]?.message.id).toBe('general70');
  const pageBefore = async (id: string) =>
    (await (
      await fetch(`${url}/console/channels/general/messages?before=${id}`)
    ).json()) as OlderMessages;
  const second = await pageBefore('general70');
  expect(second.messages.map(({ message }) => message.id)).toEqual(
    all.slice(20, 70).map(({ message }) => message.id),
  );
  expect(second.more).toBe(true);
  const third = await pageBefore('general20');
  expect([third.messages[0]?.message.id, third.messages.length]).toEqual(['general0', 20]);
  expect(third.more).toBe(false);
  expect(await pageBefore('gone')).toEqual({ messages: [], more: false });
  expect(await pageBefore('ops7')).toEqual({ messages: [], more: false });
});

test('the oldest messages are deleted beyond a thousand in all channels together', async () => {
  const channels = ['a', 'b', 'c', 'd', 'e', 'f'];
  const all = channels.flatMap((channel, index) => stored(channel, 180, index * 1_000));
  const { messages } = await startTestConsole({ stored: all, channels });
  const kept = await messages.list();
  expect(kept).toHaveLength(1_000);
  expect(kept.filter(({ document }) => document.channel === 'a')).toHaveLength(100);
});
