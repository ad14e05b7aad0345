import { expect, onTestFinished, test } from 'vitest';
import { createWebhook } from '../../../../src/webhook/webhook.ts';
import { AnyJson, startWebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import { createScriptedPlatform } from '../../../helpers/bot/scripted-platform.ts';
import { CHANNEL, cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { temporaryFolder } from '../../../helpers/temporary-folder.ts';
import { filesWith } from '../../../helpers/test-store.ts';

const person = { id: 'U1', name: 'Ada', mayManage: async () => true };

/** A bot whose channels may add webhooks on loopback, and a receiver of them. */
async function openWorld({ allowPrivate = ['127.0.0.0/8'] } = {}) {
  const folder = await temporaryFolder();
  const running = await startTestBot({ folder });
  const { bot, service, say } = running;
  const webhook = createWebhook({ addresses: [], allowPrivate, isHeld: () => true });
  onTestFinished(() => webhook.stop());
  await webhook.start(bot);
  const platform = createScriptedPlatform('console');
  const monitors = ['Shop', 'Blog'].map((name) =>
    service.add({ name, target: `https://${name}.example` }),
  );
  await bot.start([platform, webhook]);
  await eventually(() => service.requests.length > 1);
  const receiver = await startWebhookReceiver(AnyJson);
  const address = `${receiver.url}/services/of-ada/hunter2-abcd`;
  const shown = `${receiver.url}/…abcd`;
  return {
    ...{ ...running, folder, platform, receiver, address, shown },
    titles: () => receiver.posts.map(({ body }) => body.title),
    async ask(line: string) {
      const reply = await say(line, { person });
      return { card: cardOf(reply), isPrivate: reply.kind === 'card' && reply.private };
    },
    setAll(status: string) {
      for (const { id } of monitors) service.setStatus(id, status);
    },
  };
}

test('a channel adds a webhook with a filter, sees it masked, and removes it by what it sees', async () => {
  const { ask, address, shown, titles, setAll, receiver, lines, folder } = await openWorld();
  const added = await ask(`/monitor alerts on shop via=${address}`);
  expect(added.isPrivate).toBe(true);
  expect(added.card.title).toBe(`${shown} gets alerts for “shop”`);
  expect(titles()).toEqual(['Alerts for “shop” arrive here from now on']);

  const { card } = await ask('/monitor alerts on remind=4h');
  expect(textOf(card)).toContain(
    `The webhook ${shown} gets alerts for monitors with “shop” in name or target.`,
  );
  setAll('DOWN');
  await eventually(() => titles().length === 2);
  setAll('UP');
  await eventually(() => titles().length === 3);
  expect(titles().slice(1)).toEqual([
    'Shop is down',
    expect.stringMatching(/^Shop recovered after /),
  ]);

  const removed = await ask(`/monitor alerts off via=${shown}`);
  expect(removed.card.title).toBe(`${shown} removed`);
  expect(textOf(removed.card)).not.toContain('The webhook');
  setAll('DOWN');
  const again = await ask(`/monitor alerts off via=${address}`);
  expect(textOf(again.card)).toContain('This channel has no webhooks.');
  expect(receiver.posts).toHaveLength(3);
  expect(JSON.stringify(lines)).not.toContain('hunter2');
  expect(await filesWith('hunter2', folder)).toEqual([]);
});

test('an address that doesn’t accept the first post is not stored, and the error names the cause', async () => {
  const { ask, address, receiver } = await openWorld();
  receiver.refuseWith({ status: 404 });
  const { card, isPrivate } = await ask(`/monitor alerts on via=${address}`);
  expect(isPrivate).toBe(true);
  expect(textOf(card)).toContain(
    'The webhook answered 404. Check its address. Nothing was changed.',
  );
  expect(textOf((await ask('/monitor alerts on')).card)).not.toContain('The webhook');
  const plain = await ask('/monitor alerts on via=hooks.example.com');
  expect(textOf(plain.card)).toContain('begins with https://');
  const mixed = await ask(`/monitor alerts on via=${address} remind=4h`);
  expect(textOf(mixed.card)).toContain('only goes with a filter or tags');
});

test('an address in a private network is refused', async () => {
  const { ask, address, receiver } = await openWorld({ allowPrivate: [] });
  const { card } = await ask(`/monitor alerts on via=${address}`);
  expect(textOf(card)).toContain('MONITOR_ALLOW_PRIVATE');
  expect(receiver.requests()).toBe(0);
});

test('only people who manage the channel may add a webhook', async () => {
  const { say, address, receiver } = await openWorld();
  const reply = await say(`/monitor alerts on via=${address}`);
  expect(textOf(cardOf(reply))).toContain('Only people who can manage this channel');
  expect(receiver.requests()).toBe(0);
});

test('a fallback is tried, shown masked, replaced and removed', async () => {
  const { ask, address, shown, titles, channelSettings } = await openWorld();
  const { card, isPrivate } = await ask(`/monitor alerts on fallback=${address}`);
  expect(isPrivate).toBe(true);
  expect(textOf(card)).toContain(
    `Alerts that can’t be posted here for 2 minutes are sent to ${shown}.`,
  );
  expect(titles()).toEqual(['Alerts arrive here when Web console can’t be reached for 2 minutes']);
  const owned = () => channelSettings.webhooksOf('console:general');
  await ask(`/monitor alerts on fallback=${address}x`);
  expect(await owned()).toMatchObject([{ insteadOf: 'Web console' }]);
  await ask('/monitor alerts on fallback=off');
  expect(await owned()).toEqual([]);
});

test('a channel that is forgotten takes its webhooks with it', async () => {
  const { ask, address, bot, channelSettings } = await openWorld();
  await ask(`/monitor alerts on via=${address}`);
  expect(await channelSettings.places()).toHaveLength(1);
  await bot.forget(CHANNEL);
  expect(await channelSettings.places()).toEqual([]);
});
