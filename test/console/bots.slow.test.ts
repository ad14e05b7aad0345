import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Card } from '../../src/bot/shared/card.ts';
import { toAsker } from '../../src/bot/shared/invocation.ts';
import type { ConsoleEvent, Message } from '../../src/console/shared/api-types.ts';
import {
  expectAllHeard,
  openReader,
  type Replica,
  startReplicas,
} from '../helpers/console/replicas.ts';
import {
  listedAt,
  openTab,
  repliesOf,
  snapshotOf,
  type Tab,
} from '../helpers/console/test-console.ts';
import { eventually } from '../helpers/eventually.ts';
import { eventuallyEquals } from '../helpers/eventually-equals.ts';
import { hasPostgres, storedEvents } from '../helpers/postgres/test-database.ts';

const card = (title: string): Card => ({ tone: 'info', title, parts: [] });

const messageIn = (event: ConsoleEvent) =>
  event.kind === 'reply'
    ? event.reply
    : event.kind === 'message'
      ? event.listed.message
      : undefined;

const titlesOf = (messages: ReadonlyArray<Message | undefined>) =>
  messages.flatMap((message) => (message?.body.kind === 'card' ? [message.body.card.title] : []));

const isGrowing = ({ body }: Message) => body.kind === 'answer' && body.growing;
const textOf = (message: Message | undefined) =>
  message?.body.kind === 'answer' ? message.body.text : undefined;

/** Asks, and gives the thread that shows it. */
async function ask(tab: Tab, text: string, more: { thread?: string; id?: string } = {}) {
  const said = await tab.say(text, more);
  if (said.shown !== 'thread') throw new Error(`It is shown as ${JSON.stringify(said)}.`);
  return said.message;
}

/** The whole answers of a thread as a replica shows them; waits until none grows any more. */
const answersAt = async ({ url }: Replica, thread: string) =>
  await eventually(async () => {
    const answers = (await repliesOf(url, thread)).filter(({ body }) => body.kind === 'answer');
    return answers.length > 0 && !answers.some(isGrowing) && answers;
  });

/** The only answer of a thread as a replica shows it now. */
const answerAt = async ({ url }: Replica, thread: string) =>
  (await repliesOf(url, thread)).find(({ body }) => body.kind === 'answer');

async function three() {
  const world = await startReplicas(3);
  const [a, b, c] = world.replicas as [Replica, Replica, Replica];
  /** What is told from here on waits until the function that it gives is called. */
  const holdEvents = () =>
    world.hold(`select from #.event_head where log = 'console-events' for update`);
  return { ...world, a, b, c, all: [a, b, c] as const, holdEvents };
}

/** The first gives an answer, `one two.`, of which half is there until `goOn`; somebody listens at the second. */
async function half() {
  const world = await three();
  const { a, b, provider } = world;
  const reader = await openReader(b.url);
  provider.answerWith(['one ', 'two.']);
  const goOn = provider.holdChunks(1);
  const thread = await ask(await openTab(a.url), '/ask what?');
  await eventually(async () => textOf(await answerAt(b, thread)) === 'one ');
  return { ...world, reader, thread, goOn };
}

describe.skipIf(!hasPostgres)('consoles that each have a bot', () => {
  test('do what people ask at each, and show it at all: nothing lost, doubled or out of order', async () => {
    const { all, a, told, provider } = await three();
    const readers = await Promise.all(all.map(({ url }) => openReader(url)));
    provider.answerWith(['one ', 'two ', 'three.'], { chunkMs: 30 });
    const begun = await ask(await openTab(a.url), '/ask who begins?');
    const asked = await Promise.all(
      [...readers, ...readers].map(async (reader, no) => {
        const thread = no < 3 ? undefined : begun;
        return await ask(reader.tab(), `question ${no}`, thread === undefined ? {} : { thread });
      }),
    );
    for (const thread of new Set([...asked, begun])) {
      const shown = await Promise.all(all.map((replica) => answersAt(replica, thread)));
      expect(shown[0]?.map(textOf)).toEqual(shown[0]?.map(() => 'one two three.'));
      expect(shown[1]).toEqual(shown[0]);
      expect(shown[2]).toEqual(shown[0]);
      expect(shown[0]).toHaveLength(thread === begun ? 4 : 1);
    }
    expect(provider.calls.filter(({ method }) => method === 'POST')).toHaveLength(7);
    await expectAllHeard(readers, told);
    const lists = await Promise.all(all.map(({ url }) => listedAt(url)));
    expect(lists[1]).toEqual(lists[0]);
    expect(lists[2]).toEqual(lists[0]);
  });

  test('lead to what came of an interaction that is repeated at another one, and do it once', async () => {
    const { all, a, b, provider } = await three();
    const ann = await openTab(a.url);
    const id = randomUUID();
    const thread = await ask(ann, '/ask once', { id });
    for (const { url } of all) {
      const again = await openTab(url, { cookie: ann.cookie });
      expect(await again.say('/ask once', { id })).toEqual({ shown: 'thread', message: thread });
    }
    const card = randomUUID();
    const shown = await ann.say('/askwatch help', { id: card });
    const there = await openTab(b.url, { cookie: ann.cookie });
    // Privately shown, it is known there once word of it has come.
    const again = () => there.say('/askwatch help', { id: card });
    await eventually(async () => (await again()).shown !== 'nothing');
    expect(await again()).toEqual(shown);
    expect(provider.calls.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  test('lose nothing that several add to one thread at the same moment', async () => {
    const { all, a, told } = await three();
    const readers = await Promise.all(all.map(({ url }) => openReader(url)));
    const posted = await a.console.post({
      channel: 'general',
      card: card('alert'),
      id: 'root',
      attempted: false,
    });
    const names = all.flatMap(({ name }) => Array.from({ length: 10 }, (_, no) => `${name}${no}`));
    await Promise.all(
      names.map((name) => {
        const replica = all.find((one) => name.startsWith(one.name)) ?? a;
        return replica.console.announce({
          channel: 'general',
          posted,
          card: card(name),
          id: name,
          attempted: false,
        });
      }),
    );
    for (const { url } of all) {
      const replies = await repliesOf(url, posted.message);
      expect(titlesOf(replies).sort()).toEqual([...names].sort());
    }
    await expectAllHeard(readers, told);
  });

  test('show at once everywhere what one of them posts, and once what two post', async () => {
    const { all, a, b, c, told } = await three();
    const readers = await Promise.all(all.map(({ url }) => openReader(url)));
    const outage = { channel: 'general', card: card('Shop is down'), id: 'shop', attempted: false };
    const posted = await a.console.post(outage);
    expect(await c.console.post({ ...outage, attempted: true })).toEqual(posted);
    await b.console.update('general', posted, card('Shop recovered'));
    await expectAllHeard(readers, told);
    for (const { url } of all) expect(titlesOf(await listedAt(url))).toEqual(['Shop recovered']);
    for (const reader of readers)
      expect(titlesOf(reader.heard().map(({ event }) => messageIn(event))).at(-1)).toBe(
        'Shop recovered',
      );
  });

  test('go on in the message that another one began when it died, and show the new text alone', async () => {
    const { all, a, b, c, takeOverFrom, told, provider } = await three();
    const readers = await Promise.all(all.map(({ url }) => openReader(url)));
    provider.answerWith(['old ', 'words ', 'late ', 'end.']);
    const goOn = provider.holdChunks(2);
    const ann = await openTab(a.url);
    const thread = await ask(ann, '/ask slowly');
    for (const replica of all)
      await eventually(async () => textOf(await answerAt(replica, thread)) === 'old words ');
    const before = await answerAt(b, thread);
    a.cutOff();
    // One more piece that it cannot tell any more.
    goOn();
    await eventually(() => provider.calls.some(({ sentChunks }) => sentChunks > 2));
    await pause(200);
    a.lose();
    readers[0]?.tab().close();
    // Longer than what was shown before, so that the late piece would fit into it.
    provider.answerWith(['new words of another ', 'text.']);
    const goOnAnew = provider.holdChunks(1);
    await takeOverFrom(a, b);
    for (const replica of [b, c])
      await eventually(
        async () => textOf(await answerAt(replica, thread)) === 'new words of another ',
      );
    a.thaw();
    const run = (message: Message | undefined) =>
      message?.body.kind === 'answer' ? message.body.run : undefined;
    await eventually(async () => {
      const events = (await told(undefined, 0)).map(({ event }) => event);
      const anew = events.findIndex(
        (event) => event.kind === 'text' && event.text === 'new words of another ',
      );
      return (
        anew >= 0 &&
        events.slice(anew).some((event) => event.kind === 'text' && event.run === run(before))
      );
    });
    expect(textOf(await answerAt(c, thread))).toBe('new words of another ');
    goOnAnew();
    await readers[0]?.moveTo(c.url);
    for (const replica of all) {
      const [answer, ...others] = await answersAt(replica, thread);
      expect(others).toEqual([]);
      expect(answer).toMatchObject({
        id: before?.id,
        body: { text: 'new words of another text.' },
      });
      expect(await repliesOf(replica.url, thread)).toHaveLength(1);
    }
    await expectAllHeard(readers, told);
  });

  test('count nothing as shown that browsers would not hear of if they died', async () => {
    const { a, b, takeOverFrom, told, provider, reader, thread, goOn, holdEvents } = await half();
    const alert = { channel: 'general', card: card('Shop is down'), id: 'shop', attempted: false };
    const release = await holdEvents();
    let posted = false;
    const posting = a.console.post(alert).finally(() => {
      posted = true;
    });
    posting.catch(() => {});
    goOn();
    // It is stored, and a browser that opens the page now sees it.
    await eventually(async () => textOf(await answerAt(b, thread)) === 'one two.');
    await eventually(async () => titlesOf(await listedAt(b.url)).includes('Shop is down'));
    expect(posted).toBe(false);
    a.cutOff();
    a.lose();
    await release();
    // What is not done goes on elsewhere.
    provider.answerWith(['all of it.']);
    await takeOverFrom(a, b);
    expect(await b.console.post({ ...alert, attempted: true })).toMatchObject({ goesOn: false });
    const [answer] = await answersAt(b, thread);
    expect(textOf(answer)).toBe('all of it.');
    const heard = () => reader.heard().map(({ event }) => messageIn(event));
    await eventuallyEquals(async () => heard().findLast((one) => one?.id === answer?.id), answer);
    expect(titlesOf(heard())).toContain('Shop is down');
    await expectAllHeard([reader], told);
  });

  test('tell nothing more of what another one goes on with, not even what waited to be told', async () => {
    const { a, b, takeOverFrom, told, provider, reader, thread, goOn, holdEvents } = await half();
    const release = await holdEvents();
    // On its way, and what comes next waits for it.
    const alert = { channel: 'general', card: card('Shop is down'), id: 'shop', attempted: false };
    const posting = a.console.post(alert);
    await eventually(async () => titlesOf(await listedAt(b.url)).includes('Shop is down'));
    goOn();
    await eventually(async () => textOf(await answerAt(b, thread)) === 'one two.');
    a.lose();
    provider.answerWith(['all of it.']);
    await release();
    await posting;
    await takeOverFrom(a, b);
    const wholes = () =>
      reader.heard().flatMap(({ event }) => {
        const message = messageIn(event);
        return message?.body.kind === 'answer' && !isGrowing(message) ? [textOf(message)] : [];
      });
    await eventually(() => wholes().includes('all of it.'));
    expect(wholes()).toEqual(['all of it.']);
    await expectAllHeard([reader], told);
  });

  test('tell a browser what it missed, not what is older, also where it takes them seconds to hear of it', async () => {
    const { a, b, told } = await three();
    const reader = await openReader(a.url);
    // As after a standstill on a busy machine.
    b.slowDown(900);
    for (const title of ['one', 'two'])
      await a.console.post({ channel: 'general', card: card(title), id: title, attempted: false });
    await eventually(() => reader.heard().length === 2);
    await reader.moveTo(b.url);
    await a.console.post({
      channel: 'general',
      card: card('three'),
      id: 'three',
      attempted: false,
    });
    await expectAllHeard([reader], told);
    b.slowDown(0);
    const titles = titlesOf(reader.heard().map(({ event }) => messageIn(event)));
    expect(titles).toEqual(['one', 'two', 'three']);
  });

  test('tell the asker under a question without an answer that it comes to none', async () => {
    const { a, b, holdEvents } = await three();
    const ann = await openReader(b.url);
    const at = await openTab(a.url, { cookie: ann.cookie() });
    const release = await holdEvents();
    const id = randomUUID();
    const asking = at.say('/ask what?', { id });
    asking.catch(() => {});
    // It dies once the question is stored, and before the answer begins.
    const question = await eventually(async () => (await listedAt(b.url))[0]?.id);
    a.cutOff();
    await release();
    await expect(asking).rejects.toThrow('503');
    await b.console.takeOver?.({
      invocation: {
        ...{ id: `console:${id}`, request: { line: '/ask what?' } },
        place: { platform: 'console', channel: 'general' },
        person: { id: ann.person, name: 'Ann' },
        origin: { name: 'Ann', kind: 'typed' },
      },
      dispatch: async () => toAsker(card('Interrupted')),
    });
    expect(titlesOf(await repliesOf(b.url, question, ann.cookie()))).toEqual(['Interrupted']);
    expect(await repliesOf(b.url, question)).toEqual([]);
  });

  test('end the private answer of one that died, with what it had shown', async () => {
    const { a, b, c, takeOverFrom, provider } = await three();
    provider.answerWith(['just ', 'us.']);
    const goOn = provider.holdChunks(1);
    const ann = await openTab(a.url);
    await ann.say('/ask private=true quietly');
    const there = await openTab(c.url, { cookie: ann.cookie });
    const own = async (url: string) =>
      (await listedAt(url, ann.cookie)).find((message) => message.private);
    for (const { url } of [b, c]) await eventually(async () => textOf(await own(url)) === 'just ');
    a.cutOff();
    a.lose();
    await takeOverFrom(a, b);
    const isEnded = (event: ConsoleEvent) => {
      const body = messageIn(event)?.body;
      return (
        body?.kind === 'answer' &&
        !body.growing &&
        body.note?.includes('Ask again') &&
        body.text === 'just '
      );
    };
    await eventually(() => there.heard.some(isEnded));
    goOn();
    a.thaw();
    for (const { url } of [a, b, c])
      await eventually(async () => {
        const message = await own(url);
        return message && !isGrowing(message) && textOf(message) === 'just ';
      });
    const bob = await openTab(b.url);
    expect(JSON.stringify(await snapshotOf(bob))).not.toContain('just ');
  });

  test('end nothing of others when one starts, but what nobody answers any more', async () => {
    const { a, b, start, provider } = await three();
    provider.answerWith(['one ', 'two.']);
    const goOn = provider.holdChunks(1);
    const thread = await ask(await openTab(a.url), '/ask slowly');
    const left: Message = {
      ...{ id: 'aleft', author: { kind: 'askwatch' }, atMs: 2 },
      body: { kind: 'answer', text: 'half', growing: true },
    };
    const question: Message = {
      ...{ id: 'qleft', author: { kind: 'person', id: 'u', name: 'U' }, atMs: 1 },
      body: { kind: 'text', text: 'why?' },
    };
    await b.messages.update('qleft', () => ({
      channel: 'general',
      message: question,
      replies: [left],
    }));
    await eventually(async () => textOf(await answerAt(b, thread)) === 'one ');
    const late = await start('late');
    expect(await answerAt(late, 'qleft')).toMatchObject({ body: { growing: false, text: 'half' } });
    // It may not have heard of pieces that were told before it started.
    expect((await answerAt(late, thread))?.body).toMatchObject({ growing: true });
    goOn();
    for (const replica of [a, b, late])
      expect((await answersAt(replica, thread)).map(textOf)).toEqual(['one two.']);
  });

  test('list what was said in one moment in one order, whatever came first', async () => {
    const { all, b } = await three();
    for (const id of ['q2', 'q1']) {
      const author = { kind: 'person' as const, id: 'u', name: 'U' };
      const message = { id, author, atMs: 1, body: { kind: 'text' as const, text: id } };
      await b.messages.update(id, () => ({ channel: 'general', message, replies: [] }));
    }
    for (const { url } of all)
      await eventually(async () => {
        expect((await listedAt(url)).map(({ id }) => id)).toEqual(['q1', 'q2']);
        return true;
      });
  });

  test('end at any of them the answer of another one, with the text that was shown', async () => {
    const { all, a, b, told, provider } = await three();
    const readers = await Promise.all(all.map(({ url }) => openReader(url)));
    provider.answerWith(['one ', 'two.']);
    const goOn = provider.holdChunks(1);
    const thread = await ask(await openTab(a.url), '/ask slowly');
    for (const replica of all)
      await eventually(async () => textOf(await answerAt(replica, thread)) === 'one ');
    a.cutOff();
    a.lose();
    const { id = '' } = (await answerAt(b, thread)) ?? {};
    const unfinished = {
      ...{
        id: 'x',
        invocation: 'y',
        channel: 'general',
        person: 'z',
        private: false,
        beganAtMs: 1,
      },
      ...{ thread, shown: { message: id }, note: 'It ended here.', actionsIn: async () => [] },
    };
    await b.console.endAnswer?.(unfinished);
    await b.console.endAnswer?.({ ...unfinished, note: 'It ended twice.' });
    goOn();
    a.thaw();
    for (const replica of all)
      await eventually(async () => {
        const { body } = (await answerAt(replica, thread)) ?? {};
        return body?.kind === 'answer' && body.note === 'It ended here.' && body.text === 'one ';
      });
    await expectAllHeard(readers, told);
  });

  test('stop and ask anew at one what another one answers', async () => {
    const { all, a, b, c, told, provider } = await three();
    const readers = await Promise.all(all.map(({ url }) => openReader(url)));
    provider.answerWith(['one ', 'two.']);
    provider.holdChunks(1);
    const thread = await ask(await openTab(a.url), '/ask slowly');
    await eventually(async () => textOf(await answerAt(b, thread)) === 'one ');
    const [, there, third] = readers.map((reader) => reader.tab()) as [Tab, Tab, Tab];
    const stopped = await there.press(await answerAt(b, thread), 'Stop', { thread });
    expect(stopped).toEqual({ shown: 'nothing' });
    const [cut] = await answersAt(c, thread);
    provider.answerWith('Anew.');
    expect(await third.press(cut, 'Try again', { thread })).toEqual({
      shown: 'thread',
      message: thread,
    });
    for (const replica of all)
      await eventually(async () =>
        (await answersAt(replica, thread)).map(textOf).includes('Anew.'),
      );
    await expectAllHeard(readers, told);
  });

  test('share at one what another one has answered in private', async () => {
    const { all, a, b, told } = await three();
    const [ann, bob] = [await openReader(a.url), await openReader(b.url)];
    await ann.tab().say('/ask private=true why?');
    const there = await openTab(b.url, { cookie: ann.cookie() });
    const own = async (url: string) =>
      (await listedAt(url, ann.cookie())).find((message) => message.private);
    const quiet = await eventually(async () => {
      const message = await own(b.url);
      return message && !isGrowing(message) && message;
    });
    const shared = await there.press(quiet, 'Share');
    if (shared.shown !== 'thread') throw new Error(JSON.stringify(shared));
    for (const replica of all) {
      expect((await answersAt(replica, shared.message)).map(textOf)).toEqual([textOf(quiet)]);
      await eventually(async () => (await own(replica.url)) === undefined);
    }
    await expectAllHeard([ann, bob], told);
  });

  test('say that nothing was done while nothing can be stored, and do it once when it is sent again', async () => {
    const { a, b, query, provider } = await three();
    const ann = await openTab(a.url);
    const id = randomUUID();
    await ann.say('/askwatch help');
    await query('alter table #.claim rename to hidden');
    const body = { id, channel: 'general', text: '/ask now?' };
    const refused = await ann.tell('sayings', body);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.text()).toMatch(/nothing was done/);
    await query('alter table #.hidden rename to claim');
    const thread = await ask(ann, '/ask now?', { id });
    await answersAt(b, thread);
    const again = await openTab(b.url, { cookie: ann.cookie });
    expect(await ask(again, '/ask now?', { id })).toBe(thread);
    expect(provider.calls.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  test('do what is handed on to them by one without, each thing at one of them', async () => {
    const { c, start, query, provider } = await three();
    const without = await start('without', { hasBot: false });
    const bob = await openReader(without.url);
    for (let no = 0; no < 6; no += 1) {
      const thread = await ask(bob.tab(), `question ${no}`);
      await answersAt(c, thread);
      expect(await bob.tab().say('/monitor add')).toMatchObject({ shown: 'form' });
      expect(await ask(bob.tab(), `question ${no}`, { id: thread.slice(1) })).toBe(thread);
    }
    expect(provider.calls.filter(({ method }) => method === 'POST')).toHaveLength(6);
    const events = await storedEvents<{ kind: string; key: string }>(query, 'console-interactions');
    const outcomes = events.flatMap(({ body }) => (body.kind === 'asked' ? [] : [body.key]));
    expect(outcomes).toHaveLength(new Set(outcomes).size);
  });

  test('forget a private message everywhere that its reader dismisses at one that does not have it', async () => {
    const { a, b, start, query } = await three();
    const ann = await openTab(a.url);
    await ann.say('/askwatch usage');
    const own = async (url: string) =>
      (await listedAt(url, ann.cookie)).filter((message) => message.private);
    const [message] = await eventually(async () => {
      const found = await own(b.url);
      return found.length > 0 && found;
    });
    await query(`delete from #.event where log = 'console-events'`);
    const late = await start('late');
    expect(await own(late.url)).toEqual([]);
    const bob = await openTab(late.url);
    const bobThere = await openTab(b.url, { cookie: bob.cookie });
    await bob.tell('dismissals', { message: message?.id });
    await eventually(() => bobThere.heard.some(({ kind }) => kind === 'removed'));
    const there = await openTab(late.url, { cookie: ann.cookie });
    expect(await own(b.url)).toHaveLength(1);
    await there.tell('dismissals', { message: message?.id });
    for (const { url } of [a, b]) await eventually(async () => (await own(url)).length === 0);
  });
});
