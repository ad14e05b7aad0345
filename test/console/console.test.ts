import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Card } from '../../src/bot/shared/card.ts';
import { DeliveryError } from '../../src/bot/shared/errors.ts';
import type { ConsoleEvent, Message, RootMessage } from '../../src/console/shared/api-types.ts';
import { startModelProvider } from '../fakes/model-provider.ts';
import {
  listedAt,
  openTab,
  repliesOf,
  startTestConsole,
  type Tab,
} from '../helpers/console/test-console.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const card = (title: string): Card => ({ tone: 'bad', title, parts: [] });

const titleOf = ({ body }: Message) => (body.kind === 'card' ? body.card.title : '');
const answerOf = (message: Message | undefined) =>
  message?.body.kind === 'answer' ? message.body : undefined;

function repliesHeard(tab: Tab): Message[] {
  return tab.heard.flatMap((event) => (event.kind === 'reply' ? [event.reply] : []));
}

function titlesHeard(tab: Tab): string[] {
  return tab.heard.flatMap((event) =>
    event.kind === 'message' ? [titleOf(event.listed.message)] : [],
  );
}

/** The text of a streamed answer, assembled from its pieces. */
function textHeard(tab: Tab): string {
  return tab.heard
    .filter((event): event is ConsoleEvent & { kind: 'text' } => event.kind === 'text')
    .reduce((text, event) => text.slice(0, event.offset) + event.text, '');
}

/** Waits for the answer in a thread to be whole. */
function wholeAnswer(url: string, root: string, index = -1) {
  return eventually(
    async () => {
      const answer = answerOf((await repliesOf(url, root)).at(index));
      return answer && !answer.growing && answer;
    },
    { what: 'the whole answer' },
  );
}

test('an answer that cannot be stored at its end is stored later', async () => {
  const { url, provider, messages, lines } = await startTestConsole();
  provider.answerWith(['one ', 'two.']);
  const goOn = provider.holdChunks(1);
  const tab = await openTab(url);
  const said = await tab.say('/ask now');
  if (said.shown !== 'thread') throw new Error('no thread');
  const { update } = messages;
  messages.update = () => Promise.reject(new Error('the disk is full'));
  goOn();
  await eventually(() =>
    lines.some(({ msg }) => /could not store an answer; retrying/.test(String(msg))),
  );
  messages.update = update;
  const stored = async () => (await messages.get(said.message))?.replies[0]?.body;
  await eventually(async () => {
    const body = await stored();
    return body?.kind === 'answer' && !body.growing && body.text === 'one two.';
  });
});

test('a repeat after a restart does nothing and leads to the earlier result', async () => {
  const folder = await temporaryFolder();
  const provider = await startModelProvider();
  const id = randomUUID();
  const before = await startTestConsole({ folder, provider });
  const said = await (await openTab(before.url)).say('/ask once', { id });
  if (said.shown !== 'thread') throw new Error('no thread');
  await wholeAnswer(before.url, said.message);
  await before.stop();
  const after = await startTestConsole({ folder, provider });
  const again = await (await openTab(after.url)).say('/ask once', { id });
  expect(again).toEqual(said);
  expect(provider.calls).toHaveLength(1);
  await after.stop();
  await provider.close();
});

test('an endless answer is cut to a size, with a note', async () => {
  const { url, provider } = await startTestConsole();
  provider.answerWith(Array.from({ length: 80 }, () => 'x'.repeat(1_000)));
  const tab = await openTab(url);
  await tab.say('/ask everything');
  // The event comes before the answer is stored, so it doesn't wait for a busy disk.
  const answer = await eventually(
    () =>
      repliesHeard(tab)
        .flatMap((reply) => answerOf(reply) ?? [])
        .find(({ growing }) => !growing),
    { what: 'the whole answer' },
  );
  expect(textHeard(tab).length).toBe(answer.text.length);
  expect(answer.text.length).toBeLessThanOrEqual(60_000);
  expect(answer.note).toBeTruthy();
});

test('a repeated post is one message, also after a restart, and can be updated', async () => {
  const folder = await temporaryFolder();
  const before = await startTestConsole({ folder });
  const post = {
    channel: 'general',
    card: card('Shop is down'),
    id: 'alert-1',
    attempted: false,
  };
  const first = await before.console.post(post);
  await (await openTab(before.url)).say('/monitor list', { thread: first.thread });
  expect(await before.console.post({ ...post, attempted: true })).toEqual(first);
  await before.stop();

  const after = await startTestConsole({ folder });
  expect(await after.console.post({ ...post, attempted: true })).toEqual(first);
  expect(await repliesOf(after.url, first.thread)).toHaveLength(1);
  const tab = await openTab(after.url);
  await eventually(() => tab.heard.length > 0);
  await after.console.update('general', first, card('Shop recovered'));
  await eventually(() => titlesHeard(tab).includes('Shop recovered'));
  const listed = await listedAt(after.url);
  expect(listed.map(titleOf)).toEqual(['Shop recovered']);
  expect(listed[0]?.changedAtMs).toBeGreaterThan(0);
  await after.stop();
});

test('a post to an unknown channel or an update of a deleted message fails for good', async () => {
  const { console } = await startTestConsole();
  const posting = console.post({ channel: 'ops', card: card('x'), id: 'a', attempted: false });
  await expect(posting).rejects.toMatchObject({ name: 'DeliveryError', permanent: true });
  const changing = console.update('general', { message: 'gone', thread: 'gone' }, card('x'));
  await expect(changing).rejects.toBeInstanceOf(DeliveryError);
  await expect(changing).rejects.toMatchObject({ permanent: true });
});

test('a channel keeps the newest 200 messages, and the page hears of the deleted ones', async () => {
  const stored: RootMessage[] = Array.from({ length: 200 }, (_, index) => ({
    channel: 'general',
    message: {
      id: `old${index}`,
      author: { kind: 'askwatch' },
      atMs: 1_000 + index,
      body: { kind: 'card', card: card(`old ${index}`) },
    },
    replies: [],
  }));
  const { url, console, messages } = await startTestConsole({ stored });
  const tab = await openTab(url);
  await eventually(() => tab.heard.length > 0);
  await console.post({ channel: 'general', card: card('new'), id: 'n', attempted: false });
  await eventually(() => tab.heard.some(({ kind }) => kind === 'removed'));
  expect(tab.heard.at(-1)).toEqual({ kind: 'removed', message: 'old0' });
  const kept = await messages.list();
  expect(kept).toHaveLength(200);
  expect(kept.some(({ id }) => id === 'old0')).toBe(false);
});

test('a stop ends answers with a note that is stored, and ends the streams', async () => {
  const folder = await temporaryFolder();
  const provider = await startModelProvider();
  provider.answerWith('one two three', { chunkMs: 10 });
  const release = provider.holdChunks();
  const before = await startTestConsole({ folder, provider });
  const tab = await openTab(before.url);
  const said = await tab.say('/ask slowly');
  if (said.shown !== 'thread') throw new Error('no thread');
  await eventually(() => provider.calls.length === 1);
  await before.stop();
  await eventually(() => tab.ended);
  release();

  const after = await startTestConsole({ folder, provider });
  const answer = answerOf((await repliesOf(after.url, said.message))[0]);
  expect(answer?.growing).toBe(false);
  expect(answer?.note).toBeTruthy();
  await after.stop();
  await provider.close();
});
