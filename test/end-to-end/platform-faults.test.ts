import { expect, test } from 'vitest';
import { startDiscord } from '../fakes/discord/discord.ts';
import { shownText } from '../fakes/slack/limits.ts';
import { CHANNEL, startSlack } from '../fakes/slack/slack.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { answerIn, discordEnv, isDown } from '../helpers/end-to-end/discord-program.ts';
import { startModel, startWatched } from '../helpers/end-to-end/services.ts';
import { replies, socketMode } from '../helpers/end-to-end/slack-program.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

/** discord.js 14.28 reacts with an unhandled rejection. */
const UNREADABLE = '{"op":9}';

test('a fault inside the library of one platform starts that one again, and nothing else is touched', async () => {
  const slack = await startSlack();
  const discord = await startDiscord();
  const { model, env } = await startModel();
  const watched = await startWatched(`discord:${discord.general.id}`);
  const shop = watched.service.add({ name: 'Shop' });
  // Until its servers are there, the library has not started.
  discord.gateway.guildUnavailable = true;
  const starting = startAskwatch({
    dataDir: await temporaryFolder(),
    env: {
      ...socketMode(slack),
      ...discordEnv(discord),
      ...env,
      ...watched.env,
      ALERT_CHANNELS: `slack:${CHANNEL},discord:${discord.general.id}`,
    },
  });
  await eventually(() => discord.gateway.counts().identified === 1);
  discord.gateway.frame(UNREADABLE);
  discord.gateway.guildUnavailable = false;
  const askwatch = await starting;
  const metrics = async () => await (await fetch(`${askwatch.url}/metrics`)).text();
  expect(await metrics()).toContain('askwatch_platform_faults_total{platform="discord"} 1');
  await slack.slash('/ask', 'why is the sky blue?');
  const { ts: thread } = await eventually(() => slack.messages(CHANNEL)[0]);
  expect((await replies(slack, thread, 1))[0]).toContain('-');
  await eventually(() => watched.service.requests.length > 1);
  await eventually(() => discord.gateway.counts().identified === 2);

  // While an answer grows there, and its model says nothing more until all is over.
  model.answerWith(['So far ', 'so good, ', 'and more']);
  const goOn = model.holdChunks(2);
  discord.say('And in mid-answer?', { mention: true });
  const grown = () =>
    discord
      .messages()
      .find(({ author, content }) => author.id === discord.bot.id && content.startsWith('So far'));
  await eventually(() => grown()?.content.includes('so good'));
  discord.gateway.frame(UNREADABLE);
  watched.service.setStatus(shop.id, 'DOWN');
  await eventually(() => discord.gateway.counts().identified === 3);
  await eventually(() => grown()?.content.includes('Askwatch has to reconnect'));
  goOn();
  expect(grown()?.content).toMatch(/^So far so good,\s/);
  const said = discord.say('And from here?', { mention: true });
  await answerIn(discord, said.id, 1);
  const alerts = () => discord.channel(discord.general.id).filter(isDown);
  await eventually(() => alerts().length === 1);
  await eventually(() =>
    slack.messages(CHANNEL).some((message) => shownText(message).includes('Shop')),
  );

  // Twice within ten minutes: the pause has grown, and is over all the same.
  discord.gateway.frame(UNREADABLE);
  await eventually(() => discord.gateway.counts().identified === 4);
  expect(await metrics()).toContain('askwatch_platform_faults_total{platform="discord"} 3');
  expect(await metrics()).toContain('askwatch_platform_faults_total{platform="slack"} 0');
  expect(slack.calls.filter(({ method }) => method === 'apps.connections.open')).toHaveLength(1);
  expect(alerts()).toHaveLength(1);
  expect(model.calls).toHaveLength(3);
  expect(await askwatch.stop()).toBe(0);
});
