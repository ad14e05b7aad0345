import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Card } from '../../src/bot/shared/card.ts';
import { DeliveryError } from '../../src/bot/shared/errors.ts';
import type { ConsoleEvent, Message, RootMessage } from '../../src/console/shared/api-types.ts';
import { startModelProvider } from '../fakes/model-provider.ts';
import { startMonitoringService } from '../fakes/monitoring-service.ts';
import {
  ALERTING,
  listedAt,
  lookedAt,
  openTab,
  post,
  repliesOf,
  saying,
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

/** What a tab that adds up all pieces of a streamed answer would show. */
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

describe('asking', () => {
  test('posts the question in the channel and streams the answer into its thread', async () => {
    const { url, provider } = await startTestConsole();
    provider.answerWith('The *sky* scatters blue light.');
    const release = provider.holdChunks(2);
    const tab = await openTab(url);
    const said = await tab.say('/ask why is the sky blue');
    expect(said.shown).toBe('thread');
    if (said.shown !== 'thread') return;
    await eventually(() => textHeard(tab) !== '');
    release();

    const answer = await wholeAnswer(url, said.message);
    expect(answer.text).toBe('The *sky* scatters blue light.');
    expect(answer.note).toBeUndefined();
    expect(answer.footer).toContain('test-model');
    await eventually(() => repliesHeard(tab).some((reply) => answerOf(reply)?.growing === false));
    expect(textHeard(tab)).toBe(answer.text);
    expect(tab.heard.filter(({ kind }) => kind === 'text').length).toBeGreaterThan(1);
    const [question] = await listedAt(url);
    expect(question?.body).toEqual({ kind: 'text', text: 'why is the sky blue' });
  });

  test('takes words without a slash as a question', async () => {
    const { url, provider } = await startTestConsole();
    const tab = await openTab(url);
    await tab.say('why = is model=nothing blue?');
    await eventually(() => provider.calls.length === 1);
    expect(provider.calls[0]?.body.messages.at(-1).content).toBe('why = is model=nothing blue?');
  });

  test('remembers the conversation when the thread goes on', async () => {
    const { url, provider } = await startTestConsole();
    const tab = await openTab(url);
    provider.answerWith('Blue is scattered most.');
    const said = await tab.say('/ask why is the sky blue');
    if (said.shown !== 'thread') throw new Error('no thread');
    await wholeAnswer(url, said.message);
    provider.answerWith('Because violet is absorbed.');
    await tab.say('and why not violet?', { thread: said.message });
    expect((await wholeAnswer(url, said.message, 2)).text).toBe('Because violet is absorbed.');
    expect(
      provider.calls[1]?.body.messages.map(({ content }: { content: string }) => content),
    ).toEqual(
      expect.arrayContaining([
        'why is the sky blue',
        'Blue is scattered most.',
        'and why not violet?',
      ]),
    );
    const replies = await repliesOf(url, said.message);
    expect(replies.map(({ body }) => body.kind)).toEqual(['answer', 'text', 'answer']);
  });

  test('an answer that cannot be stored when it ends is stored once it can be', async () => {
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

  test('a gesture sent four times, at once and later, is one question', async () => {
    const { url, provider } = await startTestConsole();
    const tab = await openTab(url);
    const id = randomUUID();
    const said = await Promise.all([1, 2, 3].map(() => tab.say('/ask once', { id })));
    said.push(await tab.say('/ask once', { id }));
    expect(new Set(said.map((each) => JSON.stringify(each))).size).toBe(1);
    await eventually(() => provider.calls.length > 0);
    expect(provider.calls).toHaveLength(1);
    expect(await listedAt(url)).toHaveLength(1);
  });

  test('a gesture that was taken before a restart does nothing after it, and leads to what came of it', async () => {
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

  test('a private answer is told to whoever asked and to nobody else, and kept nowhere', async () => {
    const { url, provider } = await startTestConsole();
    provider.answerWith('Just between us.');
    const [mine, other] = [await openTab(url), await openTab(url)];
    await mine.say('/ask private=true what is this?');
    const answer = () =>
      mine.heard.flatMap((event) =>
        event.kind === 'message' && answerOf(event.listed.message)?.growing === false
          ? [event.listed.message]
          : [],
      )[0];
    await eventually(answer);
    expect(answerOf(answer())?.text).toBe('Just between us.');
    expect(answer()?.private).toBe(true);
    expect(textHeard(mine)).toBe('Just between us.');
    await mine.say('/monitor list');
    await eventually(() => titlesHeard(other).length === 1);
    expect(JSON.stringify(other.heard)).not.toContain('between us');
    expect(JSON.stringify(await listedAt(url))).not.toContain('between us');
  });

  test('an answer that breaks off keeps what came, with a note', async () => {
    const { url, provider } = await startTestConsole();
    provider.answerWith('one two three four five six', { chunkMs: 20 });
    provider.failWith({ kind: 'cut', afterChunks: 3 });
    const tab = await openTab(url);
    const said = await tab.say('/ask count');
    if (said.shown !== 'thread') throw new Error('no thread');
    const answer = await wholeAnswer(url, said.message);
    expect(answer.text).toContain('one two');
    expect(answer.note).toBeTruthy();
  });

  test('an endless answer is cut to a size, with a note', async () => {
    const { url, provider } = await startTestConsole();
    provider.answerWith(Array.from({ length: 80 }, () => 'x'.repeat(1_000)));
    const tab = await openTab(url);
    await tab.say('/ask everything');
    // Told before it is stored: asking for it again and again would wait for a disk that is busy.
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
});

describe('commands', () => {
  test('show their card in the channel, to everyone', async () => {
    const { url } = await startTestConsole();
    const [mine, other] = [await openTab(url), await openTab(url)];
    const said = await mine.say('/monitor add https://shop.example.com name="Shop"');
    expect(said.shown).toBe('channel');
    await eventually(() => titlesHeard(other).length === 1);
    const [shown] = await listedAt(url);
    expect(shown?.command).toBe('/monitor add https://shop.example.com name="Shop"');
    expect(shown && titleOf(shown)).toContain('Shop');
  });

  test('a private card is told to whoever asked only, and kept nowhere', async () => {
    const { url } = await startTestConsole();
    const [mine, other] = [await openTab(url), await openTab(url)];
    await mine.say('/monitor show nothing');
    await eventually(() => titlesHeard(mine).length === 1);
    await mine.say('/monitor list');
    await eventually(() => titlesHeard(other).includes('No monitors'));
    expect(titlesHeard(other)).toEqual(['No monitors']);
    expect(await listedAt(url)).toHaveLength(1);
  });

  test('in a thread show their card in the thread', async () => {
    const { url, console } = await startTestConsole();
    const posted = await console.post({
      channel: 'general',
      card: card('DOWN'),
      id: 'a',
      attempted: false,
    });
    const tab = await openTab(url);
    const said = await tab.say('/monitor list', { thread: posted.thread });
    expect(said).toEqual({ shown: 'thread', message: posted.thread });
    expect((await repliesOf(url, posted.thread)).map(titleOf)).toHaveLength(1);
  });

  test('are told to the page with their inputs', async () => {
    const { url, bot } = await startTestConsole();
    const tab = await openTab(url);
    const snapshot = await eventually(() => tab.heard[0]);
    if (snapshot.kind !== 'snapshot') throw new Error('no snapshot');
    expect(snapshot.commands.map(({ name }) => name)).toEqual(bot.commands.map(({ name }) => name));
    const add = snapshot.commands.find(({ name }) => name === 'monitor add');
    expect(add?.usage).toMatch(/^\/monitor add <target>/);
    expect(add?.fields.find(({ name }) => name === 'target')?.required).toBe(true);
  });

  test('in a thread that is gone are refused with a sentence', async () => {
    const { url } = await startTestConsole();
    const response = await post(url, { ...saying('hello'), thread: 'qnone' });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining('was deleted') },
    });
  });
});

describe('posting', () => {
  test('the same id is one message, also after a restart, and can still be changed', async () => {
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

  test('to a channel that is not there, or of a message that is gone, fails for good', async () => {
    const { console } = await startTestConsole();
    const posting = console.post({ channel: 'ops', card: card('x'), id: 'a', attempted: false });
    await expect(posting).rejects.toMatchObject({ name: 'DeliveryError', permanent: true });
    const changing = console.update('general', { message: 'gone', thread: 'gone' }, card('x'));
    await expect(changing).rejects.toBeInstanceOf(DeliveryError);
    await expect(changing).rejects.toMatchObject({ permanent: true });
  });

  test('keeps the newest 200 messages and tells the page which have gone', async () => {
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
});

describe('a restart', () => {
  test('keeps the channel, the threads and what the thread remembers', async () => {
    const folder = await temporaryFolder();
    const provider = await startModelProvider();
    provider.answerWith('First answer.');
    const before = await startTestConsole({ folder, provider });
    const said = await (await openTab(before.url)).say('/ask first question');
    if (said.shown !== 'thread') throw new Error('no thread');
    const whole = await wholeAnswer(before.url, said.message);
    await before.stop();

    const after = await startTestConsole({ folder, provider });
    expect(answerOf((await repliesOf(after.url, said.message))[0])).toEqual(whole);
    await (await openTab(after.url)).say('second question', { thread: said.message });
    await wholeAnswer(after.url, said.message, 2);
    expect(JSON.stringify(provider.calls[1]?.body.messages)).toContain('First answer.');
    await after.stop();
    await provider.close();
  });

  test('shows an answer that a crash cut as interrupted', async () => {
    const cut: RootMessage = {
      channel: 'general',
      message: {
        id: 'q1',
        author: { kind: 'person', id: 'local', name: 'You' },
        atMs: 1,
        body: { kind: 'text', text: 'why?' },
      },
      replies: [
        {
          id: 'a1',
          author: { kind: 'askwatch' },
          atMs: 2,
          body: { kind: 'answer', text: 'Because', growing: true },
        },
      ],
    };
    const { url, messages } = await startTestConsole({ stored: [cut] });
    const answer = answerOf((await repliesOf(url, 'q1'))[0]);
    expect(answer).toMatchObject({ text: 'Because', growing: false });
    expect(answer?.note).toMatch(/interrupted/i);
    expect(answerOf((await messages.get('q1'))?.replies[0])?.growing).toBe(false);
  });

  test('stopping ends answers with a note that is kept, and ends the streams', async () => {
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
});

describe('alerts', () => {
  test('appear by themselves, and the same message tells of the recovery', async () => {
    const service = await startMonitoringService({ limit: false });
    const { url } = await startTestConsole({ service, settings: ALERTING });
    const tab = await openTab(url);
    await tab.say('/monitor add https://shop.example.com name="Shop"');
    const monitor = await eventually(() => service.monitors[0]);
    await lookedAt(service);
    service.setStatus(monitor.id, 'DOWN');
    await eventually(() => titlesHeard(tab).some((title) => /Shop is down/.test(title)));
    service.setStatus(monitor.id, 'UP');
    await eventually(() => titlesHeard(tab).some((title) => /Shop recovered/.test(title)));
    const listed = await listedAt(url);
    expect(listed.filter((message) => message.command === undefined).map(titleOf)).toEqual([
      expect.stringMatching(/^Shop recovered after /),
    ]);
    await service.close();
  });
});
