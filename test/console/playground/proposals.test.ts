import { describe, expect, onTestFinished, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import { textCard } from '../../../src/bot/shared/card.ts';
import { inPlace } from '../../../src/bot/shared/invocation.ts';
import { apply, emptyState, opened } from '../../../src/console/page/playground/state.ts';
import { historyCollection } from '../../../src/console/playground/history.ts';
import type { Message, RootMessage } from '../../../src/console/shared/api-types.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import type { Collection } from '../../../src/store/store.ts';
import { textOf } from '../../helpers/bot.ts';
import { startGiving } from '../../helpers/console/giving-console.ts';
import { proposeMonitor } from '../../helpers/console/propose-monitor.ts';
import { sharedStore } from '../../helpers/console/shared-store.ts';
import {
  actionOf,
  listedAt,
  openTab,
  repliesOf,
  startTestConsole,
  type Tab,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const ASKED = 'Watch example.com?';
const DONE = 'Now watching example.com';

const cardOf = (message: Message | undefined) => {
  if (message?.body.kind !== 'card') throw new Error('There is no card.');
  return message.body.card;
};
const titleOf = ({ body }: Message) => (body.kind === 'card' ? body.card.title : body.kind);
const labelsOf = (message: Message | undefined) =>
  cardOf(message).actions?.map(({ label }) => label) ?? [];

/** A console whose model proposes to watch an address, over a store that the test may look into and break. */
async function startProposing(options: Parameters<typeof startTestConsole>[0] = {}) {
  const running = await startTestConsole(options);
  proposeMonitor(running.provider);
  return running;
}

/** Asks in the channel; resolves to the thread once so many messages stand in it. */
async function ask(tab: Tab, url: string, line = '/ask watch it'): Promise<string> {
  const said = await tab.say(line);
  if (said.shown !== 'thread') throw new Error('There is no thread.');
  await eventually(async () => (await repliesOf(url, said.message)).length === 2);
  return said.message;
}

/** What this tab shows at the top of the channel, with what it heard last. */
const shownIn = ({ heard }: Tab) => heard.reduce(apply, emptyState).messages;

/** The private cards that this tab was told, as it heard of them last. */
function privateCards({ heard }: Tab): Message[] {
  const told = heard.flatMap((event) => {
    if (event.kind === 'reply') return [event.reply];
    return event.kind === 'message' ? [event.listed.message] : [];
  });
  const newest = new Map(told.filter((one) => one.private).map((one) => [one.id, one]));
  return [...newest.values()].filter(({ body }) => body.kind === 'card');
}

const repliesHeard = ({ heard }: Tab) =>
  heard.flatMap((event) => (event.kind === 'reply' ? [event.reply] : []));

describe('what an answer proposes', () => {
  test('stands below it for everyone, and Confirm makes it what was done', async () => {
    const { url, service } = await startProposing();
    const [mine, other] = [await openTab(url), await openTab(url)];
    const thread = await ask(mine, url);
    const [answer, card] = await repliesOf(url, thread);
    expect(answer?.body).toMatchObject({
      kind: 'answer',
      growing: false,
      text: 'It waits for you.',
    });
    expect(cardOf(card).title).toBe(ASKED);
    expect(labelsOf(card)).toEqual(['Watch', 'Cancel']);
    expect(card).toMatchObject({ author: { kind: 'askwatch' } });
    expect(service.monitors).toEqual([]);

    expect(await mine.press(card, 'Watch', { thread })).toEqual({ shown: 'nothing' });
    const [, decided, ...more] = await repliesOf(url, thread);
    expect(more).toEqual([]);
    const { body: _, ...frame } = card as Message;
    expect(decided).toMatchObject({ ...frame, changedAtMs: expect.any(Number) });
    expect(cardOf(decided)).toMatchObject({
      title: DONE,
      footer: 'Confirmed by Guest 1 at the web console',
    });
    expect(labelsOf(decided)).toEqual([]);
    expect(service.monitors.map(({ target }) => target)).toEqual(['https://example.com']);
    await eventually(() => repliesHeard(other).some((reply) => titleOf(reply) === DONE));
    const { thread: shown } = repliesHeard(other).reduce(
      (state, reply) => apply(state, { kind: 'reply', root: thread, reply }),
      opened(
        { ...emptyState, thread: { root: thread, status: 'loading', replies: [], pending: [] } },
        thread,
        [],
      ),
    );
    expect(shown?.replies.map(titleOf)).toEqual(['answer', DONE]);
    expect(privateCards(mine)).toEqual([]);
  });

  test('is left undone by Cancel', async () => {
    const { url, service } = await startProposing();
    const tab = await openTab(url);
    const thread = await ask(tab, url);
    const [, card] = await repliesOf(url, thread);
    expect(await tab.press(card, 'Cancel', { thread })).toEqual({ shown: 'nothing' });
    const [, decided] = await repliesOf(url, thread);
    expect(textOf(cardOf(decided))).toBe(
      `${ASKED}\nNothing was done.\nCancelled by Guest 1 at the web console`,
    );
    await tab.press(card, 'Watch', { thread });
    expect(service.monitors).toEqual([]);
    expect(await repliesOf(url, thread)).toContainEqual(decided);
  });

  test('waits on when somebody else presses, who is told so in private', async () => {
    const { url, service } = await startProposing();
    const [mine, other] = [await openTab(url), await openTab(url)];
    const thread = await ask(mine, url);
    const replies = await repliesOf(url, thread);
    await other.press(replies[1], 'Watch', { thread });
    const [told] = await eventually(() => privateCards(other).length > 0 && privateCards(other));
    expect(textOf(cardOf(told))).toContain('Only the person who asked for this can decide.');
    expect(await repliesOf(url, thread)).toEqual(replies);
    expect(service.monitors).toEqual([]);
    await mine.press(replies[1], 'Watch', { thread });
    expect(service.monitors).toHaveLength(1);
    expect(privateCards(mine)).toEqual([]);
  });

  test('is decided once, however often its buttons are pressed at once', async () => {
    const { url, service } = await startProposing();
    const tab = await openTab(url);
    const thread = await ask(tab, url);
    const [, card] = await repliesOf(url, thread);
    const again = { thread, id: crypto.randomUUID() };
    const presses = [again, again, { thread }];
    await Promise.all(presses.map((options) => tab.press(card, 'Watch', options)));
    await tab.press(card, 'Cancel', { thread });
    expect(service.monitors).toHaveLength(1);
    expect((await repliesOf(url, thread)).map(titleOf)).toEqual(['answer', DONE]);
  });

  test('is known as it was decided after a restart, in the thread as in the page', async () => {
    const folder = await temporaryFolder();
    const before = await startProposing({ folder });
    const tab = await openTab(before.url);
    const thread = await ask(tab, before.url);
    const [, card] = await repliesOf(before.url, thread);
    await tab.press(card, 'Watch', { thread });
    const decided = await repliesOf(before.url, thread);
    expect(decided.map(titleOf)).toEqual(['answer', DONE]);
    await before.stop();
    const after = await startTestConsole({ folder });
    expect(await repliesOf(after.url, thread)).toEqual(decided);
  });

  test('is shown in the place of the message that has the button, and of no other', async () => {
    const { url, messages } = await startProposing();
    const tab = await openTab(url);
    const thread = await ask(tab, url);
    const [answer, card] = await repliesOf(url, thread);
    const press = {
      ...{ id: crypto.randomUUID(), channel: 'general', thread, message: thread },
      action: actionOf(card, 'Watch'),
    };
    expect(await (await tab.tell('presses', press)).json()).toEqual({
      shown: 'thread',
      message: thread,
    });
    const replies = await repliesOf(url, thread);
    expect(replies.slice(0, 2)).toEqual([answer, card]);
    expect(replies.slice(2).map(titleOf)).toEqual([DONE]);
    expect((await messages.get(thread))?.message.body).toMatchObject({ text: 'watch it' });
  });
});

test('a card at the top of a channel gives its place to what a press makes of it', async () => {
  const action = { label: 'Watch', command: 'proposal confirm', values: { proposal: 'p1' } };
  const asked = { ...textCard('info', ASKED, ''), actions: [action] };
  const wrapBot = (bot: Bot): Bot => ({
    ...bot,
    async dispatch(invocation, onStored) {
      await bot.dispatch(invocation, onStored);
      return inPlace(textCard('good', DONE, ''), false);
    },
  });
  const { url, console } = await startTestConsole({ wrapBot });
  const tab = await openTab(url);
  await console.post({ channel: 'general', card: asked, id: 'one', attempted: false });
  const [posted] = await listedAt(url);
  expect(await tab.press(posted, 'Watch')).toEqual({ shown: 'nothing' });
  await eventually(() => shownIn(tab).some(({ message }) => titleOf(message) === DONE));
  const [decided, ...more] = await listedAt(url);
  expect(more).toEqual([]);
  expect(decided).toMatchObject({ id: posted?.id, atMs: posted?.atMs });
  expect(decided?.changedAtMs).toBeGreaterThan(0);
  expect(await repliesOf(url, posted?.id ?? '')).toEqual([]);
});

describe('what a private answer proposes', () => {
  test('stands below it in the channel for who asked alone, and is decided there', async () => {
    const { url, service } = await startProposing();
    const [mine, other] = [await openTab(url), await openTab(url)];
    await mine.say('/ask private=true watch it');
    await eventually(() => privateCards(mine).length > 0);
    const [answer, card] = await listedAt(url, mine.cookie);
    expect([answer, card].map((one) => one && titleOf(one))).toEqual(['answer', ASKED]);
    expect(shownIn(mine).map(({ message }) => titleOf(message))).toEqual(['answer', ASKED]);
    expect(card?.private).toBe(true);

    expect(await mine.press(card, 'Watch')).toEqual({ shown: 'nothing' });
    const [, decided, ...more] = await listedAt(url, mine.cookie);
    expect(more).toEqual([]);
    expect(decided).toMatchObject({ id: card?.id, atMs: card?.atMs, private: true });
    expect(decided?.changedAtMs).toBeGreaterThan(0);
    expect(cardOf(decided)).toMatchObject({
      title: DONE,
      footer: 'Confirmed by Guest 1 at the web console',
    });
    await eventually(() => shownIn(mine).some(({ message }) => titleOf(message) === DONE));
    expect(shownIn(mine)).toHaveLength(2);
    expect(service.monitors).toHaveLength(1);
    // Everyone hears of this later one.
    await mine.say('/monitor list');
    await eventually(() => shownIn(other).length > 0);
    expect(shownIn(other).map(({ message }) => titleOf(message))).toEqual(['1 monitor: 1 UP']);
    expect(await listedAt(url)).toHaveLength(1);
  });

  test('stands in the thread where it was asked', async () => {
    const { url, provider } = await startProposing();
    const tab = await openTab(url);
    const thread = await ask(tab, url);
    proposeMonitor(provider, 'https://example.org');
    await tab.say('/ask private=true that, too', { thread });
    const [card] = await eventually(() => privateCards(tab).length > 0 && privateCards(tab));
    await tab.press(card, 'Cancel', { thread });
    const replies = await repliesOf(url, thread, tab.cookie);
    expect(replies.map(titleOf)).toEqual(['answer', ASKED, 'answer', 'Watch example.org?']);
    expect(textOf(cardOf(replies[3]))).toContain('Nothing was done.');
    expect(await repliesOf(url, thread)).toHaveLength(2);
  });

  test('is shown once it is done also where its card is gone', async () => {
    const { url, service } = await startProposing();
    const tab = await openTab(url);
    await tab.say('/ask private=true watch it');
    const [card] = await eventually(() => privateCards(tab).length > 0 && privateCards(tab));
    await tab.tell('dismissals', { message: card?.id });
    expect(await tab.press(card, 'Watch')).toMatchObject({ shown: 'channel' });
    expect((await listedAt(url, tab.cookie)).map(titleOf)).toEqual(['answer', DONE]);
    expect(service.monitors).toHaveLength(1);
  });
});

/** A store whose messages fail as `fails` says, before they are stored, or after. */
async function breakableStore() {
  const { log } = recordingLog();
  const store = sharedStore(await openLowdbStore({ folder: await temporaryFolder(), log }));
  onTestFinished(() => store.close());
  const messages: Collection<RootMessage> = store.collection(historyCollection);
  const { update } = messages;
  const failing: Array<'before' | 'after'> = [];
  const isCard = (root: RootMessage | undefined) => root?.replies.at(-1)?.body.kind === 'card';
  messages.update = async (id, change) => {
    const next = isCard(change(await messages.get(id))) ? failing.shift() : undefined;
    if (next === 'before') throw new Error('The disk is full.');
    const stored = await update(id, change);
    if (next === 'after') throw new Error('Nobody knows whether it is stored.');
    return stored;
  };
  return { store, failing };
}

describe('a card that could not be stored at once', () => {
  test.each(['before', 'after'] as const)(
    'stands there once, where the store failed %s it was stored',
    async (when) => {
      const { store, failing } = await breakableStore();
      failing.push(when);
      const { url } = await startProposing({ store });
      const tab = await openTab(url);
      const thread = await ask(tab, url);
      await eventually(() => repliesHeard(tab).some(({ body }) => body.kind === 'card'));
      expect((await repliesOf(url, thread)).map(titleOf)).toEqual(['answer', ASKED]);
      expect(failing).toEqual([]);
    },
  );

  test('stays as it was decided meanwhile, for every tab', async () => {
    const { store, failing } = await breakableStore();
    failing.push('after');
    const { url, service } = await startProposing({ store });
    const tab = await openTab(url);
    const thread = await ask(tab, url);
    const [, card] = await repliesOf(url, thread);
    await tab.press(card, 'Watch', { thread });
    const decided = await repliesOf(url, thread);
    const count = () => repliesHeard(tab).filter(({ body }) => body.kind === 'card').length;
    await eventually(() => count() === 2, { what: 'the card told once more' });
    expect(repliesHeard(tab).map(titleOf).slice(-2)).toEqual([DONE, DONE]);
    expect(await repliesOf(url, thread)).toEqual(decided);
    expect(service.monitors).toHaveLength(1);
  });
});

test('an answer has ended once its cards are stored', async () => {
  const { url, give, hooks, messages } = await startGiving();
  const tab = await openTab(url);
  const said = await tab.say('/ask why?');
  const cards = ['One?', 'Two?'].map((title) => textCard('info', title, ''));
  const shown: string[][] = [];
  hooks.onEnded = async () => {
    const root = await messages.get(said.shown === 'thread' ? said.message : '');
    shown.push(root?.replies.map(titleOf) ?? []);
  };
  give({ kind: 'text', text: 'So.' }, { kind: 'end', footer: '', cards });
  await eventually(() => shown.length > 0);
  expect(shown).toEqual([['answer', 'One?', 'Two?']]);
});
