import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import type { Message } from '../../../src/console/shared/api-types.ts';
import {
  ALERTING,
  actionOf,
  listedAt,
  lookedAt,
  openTab,
  postPress,
  repliesOf,
  startTestConsole,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';

/** A console whose channel has an alert for the shop. */
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

/** The body of a press. */
function pressOf(message: Message, action: string): Record<string, unknown> {
  return { id: randomUUID(), channel: 'general', message: message.id, action };
}

test('a press on a card in a thread is answered in that thread', async () => {
  const { url, console, messages } = await startTestConsole();
  const card: Card = { tone: 'bad', title: 'x', parts: [] };
  const posted = await console.post({ channel: 'general', card, id: 'a', attempted: false });
  const tab = await openTab(url);
  await tab.say('/monitor list', { thread: posted.thread });
  const [reply] = await repliesOf(url, posted.thread);
  if (!reply) throw new Error('There is no reply.');
  const press = { ...pressOf(reply, 'monitor list?'), thread: posted.thread };
  const response = await tab.tell('presses', press);
  expect(await response.json()).toMatchObject({ shown: 'thread', message: posted.thread });
  expect((await messages.get(posted.message))?.replies).toHaveLength(2);
  const elsewhere = await postPress(url, pressOf(reply, 'monitor list?'));
  expect(elsewhere.status).toBe(404);
  const gone = { ...pressOf(reply, 'monitor list?'), message: 'anone', thread: posted.thread };
  expect((await postPress(url, gone)).status).toBe(404);
});

test('a press on a card under an alert is answered in the alert’s thread, which knows the incident', async () => {
  const { url, alert, console, bot, provider } = await startWithAlert();
  const place = { platform: 'console' as const, channel: 'general' };
  await eventually(() => bot.isConversation(place, alert.id));
  const actions = [{ label: 'Ask', command: 'ask', values: { question: 'Which disk?' } }];
  const card: Card = { tone: 'info', title: 'Looked into it', parts: [], actions };
  const under = { message: alert.id, thread: alert.id };
  await console.post({ channel: 'general', under, card, id: 'a1/findings', attempted: false });
  const tab = await openTab(url);
  const [reply] = await repliesOf(url, alert.id);
  const outcome = await tab.press(reply, 'Ask', { thread: alert.id });
  expect(outcome).toMatchObject({ shown: 'thread', message: alert.id });
  await eventually(() => provider.calls.length === 1);
  expect(provider.calls[0]?.body.messages[0].content).toContain('Monitor: Shop');
});

test('an action of no button is refused with a sentence', async () => {
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

test('a press on a deleted message is refused with a sentence', async () => {
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

test('an incomplete or oversized press is refused', async () => {
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
