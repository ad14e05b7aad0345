import { expect, test } from 'vitest';
import type { Place } from '../../../src/bot/shared/place.ts';
import { conclusion } from '../../helpers/bot/investigated-bot.ts';
import { callOf } from '../../helpers/bot/other-tools.ts';
import { readAnswer, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { delivery, OPS, openIntakeServer } from '../../helpers/intake/intake-server.ts';

const DEV: Place = { platform: 'slack', channel: 'C2' };

/** Two channels with the alert of one outage; one of them also gets an alert from another system. */
async function startTwoChannels() {
  const world = await openIntakeServer({ settings: { alertPlaces: [OPS, DEV], alertPollMs: 50 } });
  const { service, slack, provider, channelSettings } = world;
  const { id } = service.add({ name: 'Shop', target: 'https://shop.example' });
  await eventually(() => service.requests.length > 1);
  service.setStatus(id, 'DOWN');
  await eventually(() => slack.messages.length === 2);
  await world.deliver(delivery([{ name: 'DiskFull' }]));
  await eventually(() => slack.messages.length === 3);
  // Each investigation looks up all alerts of its channel first.
  provider.answerWith(({ messages }: { messages: Array<{ role: string }> }) =>
    messages.at(-1)?.role === 'tool'
      ? conclusion()
      : { calls: [callOf('list_monitors'), callOf('list_incidents')] },
  );
  const alertIn = ({ channel }: Place) =>
    slack.messages.find((one) => one.channel === channel && one.card.title === 'Shop is down');
  const investigationsIn = ({ channel }: Place) =>
    slack.messages.filter((one) => one.channel === channel && one.under !== undefined);
  return {
    ...{ ...world, investigationsIn },
    async investigate(place: Place) {
      const investigate = { afterMs: 1, tokensPerDay: 50_000 };
      await channelSettings.change(place, { settings: { investigate } });
    },
    /** The message of the channel's investigation, once it shows a result. */
    concludedIn: (place: Place) =>
      eventually(() => {
        const shown = investigationsIn(place).find(({ under }) => under === alertIn(place)?.id);
        return shown?.card.actions?.some(({ label }) => label === 'Investigate again') && shown;
      }),
  };
}

test('investigates an outage once in each channel, and shows neither the alerts of the other', async () => {
  const world = await startTwoChannels();
  for (const place of [OPS, DEV]) {
    await world.investigate(place);
    const calls = world.provider.calls.length;
    const { card, under: thread = '' } = await world.concludedIn(place);
    expect(card.title).toContain('Likely: ');
    const own = JSON.stringify(world.provider.calls.slice(calls).map(({ body }) => body));
    const { end } = await readAnswer(await world.press(card, 'Details', { place, thread }), thread);
    const texts = [own, end.document?.text ?? '', textOf(card)];
    expect(texts.map((text) => text.includes('DiskFull'))).toEqual(
      place === OPS ? [true, true, false] : [false, false, false],
    );
    expect(world.investigationsIn(place)).toHaveLength(1);
  }
  expect(world.provider.calls).toHaveLength(4);
});

test('counts the tokens of each channel’s investigations apart', async () => {
  const world = await startTwoChannels();
  await world.usageLog.add({
    ...{ atMs: Date.now(), place: OPS, person: 'investigations', name: 'Investigations' },
    ...{ model: 'test-model', tokens: 50_000 },
  });
  for (const place of [OPS, DEV]) await world.investigate(place);
  const [inOps, inDev] = [await world.concludedIn(OPS), await world.concludedIn(DEV)];
  expect(textOf(inOps.card)).toMatch(/^Not investigated\n.*used up their 50,000 tokens a day/);
  expect(textOf(inDev.card)).toMatch(/^Likely: [\s\S]* [\d,]{1,6} of 50,000 tokens today$/);
});

test('begins several investigations some seconds apart, because platforms limit edits', async () => {
  const world = await startTwoChannels();
  for (const place of [OPS, DEV]) await world.investigate(place);
  await Promise.all([world.concludedIn(OPS), world.concludedIn(DEV)]);
  const [first, second] = world.provider.calls.filter(
    ({ body }) => body.messages.at(-1)?.role === 'user',
  );
  const atMs = [first, second].map((call) => call?.firstChunkAtMs ?? 0);
  expect((atMs[1] ?? 0) - (atMs[0] ?? 0)).toBeGreaterThan(3_000);
});
