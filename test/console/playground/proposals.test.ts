import { expect, onTestFinished, test } from 'vitest';
import { applyEvent, emptyState } from '../../../src/console/page/playground/state.ts';
import { historyCollection } from '../../../src/console/playground/history.ts';
import type { RootMessage } from '../../../src/console/shared/api-types.ts';
import type { Collection } from '../../../src/store/store.ts';
import {
  cardOf,
  privateMessages,
  receivedReplies,
  titleOf,
} from '../../helpers/console/messages.ts';
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
import { openTestStore } from '../../helpers/test-store.ts';

const ASKED = 'Watch example.com?';
const DONE = 'Now watching example.com';

/** A console whose model proposes to watch an address. */
async function startProposing(options: Parameters<typeof startTestConsole>[0] = {}) {
  const running = await startTestConsole(options);
  proposeMonitor(running.provider);
  return running;
}

/** Asks in the channel; resolves to the thread once it has two replies. */
async function ask(tab: Tab, url: string, line = '/ask watch it'): Promise<string> {
  const said = await tab.say(line);
  if (said.shown !== 'thread') throw new Error('There is no thread.');
  await eventually(async () => (await repliesOf(url, said.message)).length === 2);
  return said.message;
}

/** The messages that this tab shows at the top of the channel. */
const shownIn = ({ heard }: Tab) => heard.reduce(applyEvent, emptyState).messages;

const privateCards = (tab: Tab) => privateMessages(tab).filter(({ body }) => body.kind === 'card');

test('a decision replaces only the message that has the button', async () => {
  const { url, messages } = await startProposing();
  const tab = await openTab(url);
  const thread = await ask(tab, url);
  const [answer, card] = await repliesOf(url, thread);
  const press = {
    ...{ id: crypto.randomUUID(), channel: 'general', thread, message: thread },
    action: actionOf(card, 'Watch'),
  };
  expect(await (await tab.tell('presses', press)).json()).toMatchObject({
    shown: 'thread',
    message: thread,
  });
  const replies = await repliesOf(url, thread);
  expect(replies.slice(0, 2)).toEqual([answer, card]);
  expect(replies.slice(2).map(titleOf)).toEqual([DONE]);
  expect((await messages.get(thread))?.message.body).toMatchObject({ text: 'watch it' });
});

test('a private proposal is shown to its asker alone and decided there', async () => {
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
  // Everyone gets this later message.
  await mine.say('/monitor list');
  await eventually(() => shownIn(other).length > 0);
  expect(shownIn(other).map(({ message }) => titleOf(message))).toEqual(['1 monitor: 1 UP']);
  expect(await listedAt(url)).toHaveLength(1);
});

/** A store that fails to store a card, before or after it has stored it. */
async function breakableStore() {
  const { log } = recordingLog();
  const store = sharedStore(await openTestStore({ log }));
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

test.each(['before', 'after'] as const)(
  'a card is shown once if the store failed %s storing it',
  async (when) => {
    const { store, failing } = await breakableStore();
    failing.push(when);
    const { url } = await startProposing({ store });
    const tab = await openTab(url);
    const thread = await ask(tab, url);
    await eventually(() => receivedReplies(tab).some(({ body }) => body.kind === 'card'));
    expect((await repliesOf(url, thread)).map(titleOf)).toEqual(['answer', ASKED]);
    expect(failing).toEqual([]);
  },
);
