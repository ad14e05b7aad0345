import type { Place } from '../../../src/bot/shared/place.ts';
import { startTestBot, type TestBotOptions } from '../bot.ts';
import { eventually } from '../eventually.ts';
import { createScriptedPlatform } from './scripted-platform.ts';

export const OPS: Place = { platform: 'slack', channel: 'C1' };
const DEV: Place = { platform: 'discord', channel: 'D1' };

/** A bot that has posted in two channels that its monitors are down; all of them are in one message. */
export async function startAlertedBot(names = ['Shop'], options: TestBotOptions = {}) {
  const settings = { alertPlaces: [OPS, DEV], ...options.settings };
  const running = await startTestBot({ ...options, settings });
  const { bot, service } = running;
  const [slack, discord] = [createScriptedPlatform('slack'), createScriptedPlatform('discord')];
  const monitors = names.map((name) => service.add({ name, target: 'https://shop.example' }));
  const setAll = (status: string) => {
    for (const { id } of monitors) service.setStatus(id, status);
  };
  await bot.start([slack, discord]);
  await eventually(() => service.requests.length > 1);
  setAll('DOWN');
  await eventually(() => slack.messages.length === 1 && discord.messages.length === 1);
  const [alert, other] = [slack.messages[0], discord.messages[0]];
  if (!alert || !other) throw new Error('No alert was posted.');
  await eventually(() => bot.isConversation(OPS, alert.id));
  return {
    ...{ ...running, slack, discord, alert, other, setAll },
    /** The thread of the alert. */
    thread: alert.id,
    async recover() {
      setAll('UP');
      await eventually(() => alert.card.tone === 'good');
    },
  };
}
