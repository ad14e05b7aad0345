import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import type { ListedMessage, Message } from '../../../src/console/shared/api-types.ts';
import { textOf } from '../../helpers/bot.ts';
import {
  ALERTING,
  actionOf,
  listedAt,
  lookedAt,
  openTab,
  postPress,
  repliesOf,
  snapshotOf,
  startTestConsole,
  statusOf,
  type Tab,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

/** A console whose channel has been told that the shop is down. */
async function startWithAlert() {
  const running = await startTestConsole({
    settings: { ...ALERTING, alertPlaces: [{ platform: 'console', channel: 'general' }] },
  });
  const { url, service } = running;
  const shop = service.add({ name: 'Shop' });
  await lookedAt(service);
  service.setStatus(shop.id, 'DOWN');
  const [alert] = await eventually(async () => {
    const listed = await listedAt(url);
    return listed.length > 0 && listed;
  });
  if (!alert) throw new Error('There is no alert.');
  return { ...running, shop, alert };
}

/** A press with everything in it, for requests made by hand. */
function pressOf(message: Message, action: string): Record<string, unknown> {
  return { id: randomUUID(), channel: 'general', message: message.id, action };
}

const cardOf = ({ body }: Message): Card => {
  if (body.kind !== 'card') throw new Error(`Wanted a card, got ${body.kind}.`);
  return body.card;
};
const labelsOf = (message: Message) => cardOf(message).actions?.map(({ label }) => label) ?? [];

/** The message as this tab shows it, with what it heard last. */
function shownIn(tab: Tab, id: string): Message | undefined {
  return tab.heard
    .flatMap((event): ListedMessage[] => {
      if (event.kind === 'snapshot') return event.messages;
      return event.kind === 'message' ? [event.listed] : [];
    })
    .map(({ message }) => message)
    .findLast((message) => message.id === id);
}

const repliesHeard = (tab: Tab): Message[] =>
  tab.heard.flatMap((event) => (event.kind === 'reply' ? [event.reply] : []));

describe('a press', () => {
  test('of Acknowledge shows in every open tab, and the button goes', async () => {
    const { url, alert } = await startWithAlert();
    expect(labelsOf(alert)).toEqual(['Acknowledge', 'Snooze 1 h', 'Check now', 'Ask why']);
    expect(cardOf(alert).link?.label).toBe('Open shop.example');
    const tabs = [await openTab(url), await openTab(url)] as const;
    const { person } = await snapshotOf(tabs[0]);
    expect(await tabs[0].press(alert, 'Acknowledge')).toEqual({ shown: 'nothing' });
    for (const tab of tabs) {
      const message = await eventually(() => {
        const shown = shownIn(tab, alert.id);
        return shown && !labelsOf(shown).includes('Acknowledge') && shown;
      });
      expect(textOf(cardOf(message))).toContain(
        `Acknowledged by: ${person.name} at the web console`,
      );
    }
    expect(await repliesOf(url, alert.id)).toEqual([]);
  });

  test('of Ask why puts the question into the thread of the alert, and the answer under it', async () => {
    const { url, alert, provider } = await startWithAlert();
    provider.answerWith('The certificate has expired.', { chunkMs: 30 });
    const [mine, other] = [await openTab(url), await openTab(url)];
    const said = await mine.press(alert, 'Ask why');
    expect(said).toEqual({ shown: 'thread', message: alert.id });
    const [question, answer, ...more] = await eventually(async () => {
      const replies = await repliesOf(url, alert.id);
      const { body } = replies.at(-1) ?? {};
      return body?.kind === 'answer' && !body.growing && replies;
    });
    expect(more).toEqual([]);
    expect(question).toMatchObject({
      author: { kind: 'person', ...(await snapshotOf(mine)).person },
      body: { kind: 'text', text: expect.stringContaining('Why is this down') },
    });
    expect(answer?.body).toMatchObject({ text: 'The certificate has expired.' });
    expect(JSON.stringify(provider.calls[0]?.body.messages)).toContain('Shop');
    await eventually(() => repliesHeard(other).some(({ id }) => id === answer?.id));
    const pieces = other.heard.filter(({ kind }) => kind === 'text');
    expect(pieces.length).toBeGreaterThan(0);
    for (const piece of pieces) expect(piece).toMatchObject({ root: alert.id, reply: answer?.id });
  });

  test('of Ask why without a model tells what is known and why it is no more', async () => {
    const { url, alert, provider } = await startWithAlert();
    provider.failWith({ kind: 'status', status: 503 });
    await (await openTab(url)).press(alert, 'Ask why');
    const answer = await eventually(async () => {
      const { body } = (await repliesOf(url, alert.id)).at(-1) ?? {};
      return body?.kind === 'answer' && !body.growing && body;
    });
    expect(answer.text).toContain('What we know so far (no model connected): **Shop is down**');
    expect(JSON.stringify(answer)).toContain('The model gateway answered with an error');
    expect(JSON.stringify(answer)).toContain('Try again');
  });

  test('of Check now is answered to the tab that pressed, in the thread, and stored nowhere', async () => {
    const { url, alert } = await startWithAlert();
    const [mine, other] = [await openTab(url), await openTab(url)];
    const said = await mine.press(alert, 'Check now');
    expect(said).toEqual({ shown: 'thread', message: alert.id });
    const [found] = await eventually(() => repliesHeard(mine).length > 0 && repliesHeard(mine));
    expect(found).toMatchObject({ private: true, command: 'Check now' });
    expect(mine.heard.at(-1)).toMatchObject({ kind: 'reply', root: alert.id });
    // Everyone hears of this later one.
    await mine.press(alert, 'Acknowledge');
    await eventually(() => {
      const shown = shownIn(other, alert.id);
      return shown && !labelsOf(shown).includes('Acknowledge');
    });
    expect(repliesHeard(other)).toEqual([]);
    expect(await repliesOf(url, alert.id)).toEqual([]);
  });

  test('sent four times, at once and later, asks once', async () => {
    const { url, alert, provider } = await startWithAlert();
    const tab = await openTab(url);
    const id = randomUUID();
    const said = await Promise.all([1, 2, 3].map(() => tab.press(alert, 'Ask why', { id })));
    said.push(await tab.press(alert, 'Ask why', { id }));
    expect(new Set(said.map((each) => JSON.stringify(each))).size).toBe(1);
    await eventually(() => provider.calls.length > 0);
    expect(provider.calls).toHaveLength(1);
    expect(await repliesOf(url, alert.id)).toHaveLength(2);
  });

  test('of a button that the card no longer has is for the bot to judge', async () => {
    const { url, alert, service, shop } = await startWithAlert();
    const tab = await openTab(url);
    service.setStatus(shop.id, 'UP');
    const over = await eventually(() => {
      const shown = shownIn(tab, alert.id);
      return shown && cardOf(shown).tone === 'good' && shown;
    });
    expect(labelsOf(over)).toEqual(['Summarise']);
    await tab.press(alert, 'Acknowledge');
    // The line that says it is over is a reply, too, and for everyone.
    const told = await eventually(() => repliesHeard(tab).find((reply) => reply.private));
    expect(textOf(cardOf(told))).toContain('This incident is over.');
    expect(told.command).toBeUndefined();
  });

  test('on a card in a thread is shown in that thread', async () => {
    const { url, console, messages } = await startTestConsole();
    const card: Card = { tone: 'bad', title: 'x', parts: [] };
    const posted = await console.post({ channel: 'general', card, id: 'a', attempted: false });
    const tab = await openTab(url);
    await tab.say('/monitor list', { thread: posted.thread });
    const [reply] = await repliesOf(url, posted.thread);
    if (!reply) throw new Error('There is no reply.');
    const press = { ...pressOf(reply, 'monitor list?'), thread: posted.thread };
    const response = await tab.tell('presses', press);
    expect(await response.json()).toEqual({ shown: 'thread', message: posted.thread });
    expect((await messages.get(posted.message))?.replies).toHaveLength(2);
    const elsewhere = await postPress(url, pressOf(reply, 'monitor list?'));
    expect(elsewhere.status).toBe(404);
    const gone = { ...pressOf(reply, 'monitor list?'), message: 'anone', thread: posted.thread };
    expect((await postPress(url, gone)).status).toBe(404);
  });
});

describe('what is refused', () => {
  test('a text that no button carries, with a sentence', async () => {
    const { url, alert } = await startWithAlert();
    for (const action of ['incident acknowledge', '?', 'a?b?c', `x?${'y'.repeat(150)}`]) {
      const response = await postPress(url, pressOf(alert, action));
      expect([action, response.status]).toEqual([action, 400]);
      expect(await response.json()).toMatchObject({
        error: { message: 'There is no such button.' },
      });
    }
    expect(await listedAt(url)).toEqual([alert]);
  });

  test('a command, an incident or values that are none, in a card for who pressed', async () => {
    const { url, alert, provider } = await startWithAlert();
    for (const [action, says] of [
      ['toString?incident=x', /Unknown command/],
      ['incident acknowledge?incident=none', /too old/],
      ['incident acknowledge?__proto__=x', /“incident” is missing/],
    ] as const) {
      const tab = await openTab(url);
      const response = await tab.tell('presses', pressOf(alert, action));
      expect([action, response.status]).toEqual([action, 200]);
      const [told] = await eventually(() => repliesHeard(tab).length > 0 && repliesHeard(tab));
      expect(told?.private).toBe(true);
      expect(told && textOf(cardOf(told))).toMatch(says);
    }
    expect(await listedAt(url)).toEqual([alert]);
    expect(await repliesOf(url, alert.id)).toEqual([]);
    expect(provider.calls).toHaveLength(0);
  });

  test('a message that is gone, with a sentence', async () => {
    const { url, alert, provider } = await startWithAlert();
    for (const gone of [{ message: 'pnone' }, { thread: 'pnone' }, { message: '__proto__' }]) {
      const press = { ...pressOf(alert, actionOf(alert, 'Ask why')), ...gone };
      const response = await postPress(url, press);
      expect([gone, response.status]).toEqual([gone, 404]);
      expect(await response.json()).toMatchObject({
        error: { message: 'This message was deleted to make room for newer ones.' },
      });
    }
    expect(await repliesOf(url, alert.id)).toEqual([]);
    expect(provider.calls).toHaveLength(0);
  });

  test('what is not whole and in size', async () => {
    const { url, console } = await startTestConsole();
    const card: Card = { tone: 'bad', title: 'x', parts: [] };
    const { message } = await console.post({ channel: 'general', card, id: 'a', attempted: false });
    for (const wrong of [
      { id: 'not-a-uuid' },
      { client: 'x' },
      { message: '' },
      { message: 'x'.repeat(101) },
      { action: '' },
      { action: { command: 'ask' } },
      { text: '/ask hello' },
    ]) {
      const press = { ...pressOf({ id: message } as Message, 'ask?question=x'), ...wrong };
      expect([wrong, (await postPress(url, press)).status]).toEqual([wrong, 400]);
    }
  });

  test('what comes from elsewhere', async () => {
    const { url, alert } = await startWithAlert();
    const elsewhere: Array<Record<string, string>> = [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
      { host: 'evil.example', origin: 'http://evil.example' },
      {},
    ];
    for (const given of elsewhere) {
      const body = JSON.stringify(pressOf(alert, actionOf(alert, 'Acknowledge')));
      const headers = { 'content-type': 'application/json', ...given };
      const asked = statusOf(`${url}/console/presses`, headers, { method: 'POST', body });
      expect([given, await asked]).toEqual([given, 403]);
    }
    expect(await listedAt(url)).toEqual([alert]);
  });

  test('what is no JSON, and anything when the console has stopped', async () => {
    const { url, console, bot, alert } = await startWithAlert();
    const press = pressOf(alert, actionOf(alert, 'Acknowledge'));
    expect((await postPress(url, press, { 'content-type': 'text/plain' })).status).toBe(415);
    await bot.stop();
    await console.stop();
    expect((await postPress(url, press)).status).toBe(503);
  });
});

test('buttons are kept over a restart as they were, at most five of them, with what they carry whole', async () => {
  const folder = await temporaryFolder();
  const before = await startTestConsole({ folder });
  const action = (index: number) => ({
    label: `${index} ${'x'.repeat(100)}`,
    command: 'incident check',
    values: { incident: String(index) },
  });
  const card: Card = {
    tone: 'bad',
    title: 'x',
    parts: [],
    actions: Array.from({ length: 7 }, (_, index) => action(index)),
  };
  await before.console.post({ channel: 'general', card, id: 'a', attempted: false });
  await before.stop();
  const after = await startTestConsole({ folder });
  const [kept] = await listedAt(after.url);
  const { actions = [] } = kept ? cardOf(kept) : {};
  expect(actions.map(({ values }) => values.incident)).toEqual(['0', '1', '2', '3', '4']);
  expect(actions.every(({ label }) => label.length === 80)).toBe(true);
});
