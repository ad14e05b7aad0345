import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { HEARD_BY_ALL_MS } from '../../fakes/too-early.ts';
import { startProcesses } from '../../helpers/end-to-end/chaos.ts';
import { discordEnv, textOf } from '../../helpers/end-to-end/discord-program.ts';
import { startForBot } from '../../helpers/end-to-end/services.ts';
import { shown, socketMode } from '../../helpers/end-to-end/slack-program.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

const MONITORS = 500;

test.skipIf(!hasPostgres)(
  'the process that has the bot is killed while 500 monitors go down: at most two messages a channel, and all of them are told',
  async () => {
    const random = createRandom(seed());
    const { url: database, schema } = await testDatabase();
    const { service, env: services } = await startForBot();
    const slack = await startSlack(onTestFinished, { heardMs: HEARD_BY_ALL_MS });
    const discord = await startDiscord({ heardMs: HEARD_BY_ALL_MS });
    const monitors = Array.from({ length: MONITORS }, (_, no) => service.add({ name: `m${no}x` }));
    const env = {
      ...{ ...socketMode(slack), ...discordEnv(discord), ...services },
      ALERT_CHANNELS: `slack:${CHANNEL},discord:${discord.general.id}`,
    };
    // The first to start has the bot.
    const processes = await startProcesses(1, { database, schema, env });
    await processes.add(2);
    const looks = service.requests.length;
    await eventually(() => service.requests.length > looks + 2);

    for (const { id } of monitors) service.setStatus(id, 'DOWN');
    await pause(random() * (long ? 4_000 : 2_000));
    expect((await processes.holder())?.pid).toBe(processes.pids()[0]);
    await processes.kill(
      () => 0,
      () => {
        slack.killed();
        discord.killed();
      },
    );

    const messages = () => [
      shown(slack).filter((text) => / down|recovered/.test(text)),
      discord.channel(discord.general.id).map(textOf),
    ];
    const toldDown = (texts: string[]) =>
      texts.reduce((sum, text) => sum + Number(/(\d+) services are down/.exec(text)?.[1] ?? 1), 0);
    await eventually(
      () => {
        for (const texts of messages()) {
          expect(texts.length).toBeLessThanOrEqual(2);
          expect(toldDown(texts)).toBe(MONITORS);
        }
        return true;
      },
      { withinMs: 120_000, what: 'all that went down to be told' },
    );
    for (const { id } of monitors) service.setStatus(id, 'UP');
    await eventually(
      () => messages().every((texts) => texts.every((text) => /recovered/.test(text))),
      {
        withinMs: 120_000,
        what: 'all to be told as over',
      },
    );
    for (const texts of messages()) expect(texts.length).toBeLessThanOrEqual(2);
    expect(await processes.stop()).toEqual([0, 0, 0]);
  },
  400_000,
);
