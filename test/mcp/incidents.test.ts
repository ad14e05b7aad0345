import { expect, test } from 'vitest';
import type { OpenBot } from '../../src/bot/platform.ts';
import { startWebTarget } from '../fakes/web-target.ts';
import { createScriptedPlatform } from '../helpers/bot/scripted-platform.ts';
import { CHANNEL, startTestBot, textOf } from '../helpers/bot.ts';
import { eventually } from '../helpers/eventually.ts';
import { CLIENTS, startMcp } from '../helpers/mcp.ts';

type Result = { content: Array<{ text: string }>; isError?: boolean };

/** The program as it runs: `/mcp` beside the service, and a bot that watches that service, once it is started. */
async function start() {
  let bot: OpenBot | undefined;
  const mcp = await startMcp({ writes: true, incidents: () => bot?.incidents });
  const client = await CLIENTS['SDK 2 with a handshake'](mcp.url, mcp.key);
  return {
    ...mcp,
    client,
    async call(name: string, monitor: string) {
      const result = (await client.callTool({ name, arguments: { monitor } })) as Result;
      return { text: result.content[0]?.text ?? '', isError: result.isError ?? false };
    },
    /** Starts the bot and returns the messages of a subscribed channel. */
    async startBot() {
      const platform = createScriptedPlatform(CHANNEL.platform);
      const settings = { alertPlaces: [CHANNEL], alertPollMs: 200 };
      bot = (await startTestBot({ watched: mcp, settings })).bot;
      await bot.start([platform]);
      // The first poll posts no alerts for known outages. The poller requests changes once that poll is stored.
      await eventually(async () =>
        /request_seconds_count\{[^}]*changes"/.test(await mcp.metrics()),
      );
      return platform.messages;
    },
  };
}

test('an incident that a channel was told of is acknowledged and snoozed, once, in the name of the key', async () => {
  const { create, client, call, startBot } = await start();
  const target = await startWebTarget();
  const config = { interval_seconds: 3_600, confirm_down: 1 };
  await create({ name: 'Shop', check_type: 'HTTP', target: target.url, config });
  await create({ name: 'Blog', check_type: 'HTTP', target: target.url, config });
  expect(await call('acknowledge_incident', 'Shop')).toEqual({
    text: 'Askwatch is still starting. Try again in a few seconds.',
    isError: true,
  });

  const messages = await startBot();
  expect((await call('acknowledge_incident', 'Blog')).text).toContain(
    'Blog has no ongoing incident',
  );
  target.answerWith((_, response) => response.writeHead(503).end());
  await eventually(async () => {
    await client.callTool({ name: 'check_monitor', arguments: { monitor: 'Shop' } });
    return messages.length === 1;
  });
  const shown = () => messages.map(({ card }) => textOf(card)).join('\n');

  const acknowledged = await call('acknowledge_incident', 'Shop');
  expect(JSON.parse(acknowledged.text)).toMatchObject({
    done: 'tests acknowledged the incident of Shop',
  });
  await eventually(() => shown().includes('Acknowledged by: tests'));
  expect((await call('acknowledge_incident', 'Shop')).text).toContain(
    'tests acknowledged this first',
  );
  await call('snooze_incident', 'Shop');
  await eventually(() => shown().includes('Snoozed by'));
});

test('there are no incident tools without a bot', async () => {
  const mcp = await startMcp({ writes: true });
  const client = await CLIENTS['SDK 1'](mcp.url, mcp.key);
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toContain('remove_monitor');
  expect(names.filter((name) => name.endsWith('_incident'))).toEqual([]);
});

test('a note is kept in the thread of an alert only', async () => {
  const { client } = await start();
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names.filter((name) => name.endsWith('_incident'))).toEqual([
    'acknowledge_incident',
    'snooze_incident',
  ]);
});

test('the incident tools are about monitors only where there is no channel', async () => {
  const { client } = await start();
  const { tools } = await client.listTools();
  const descriptions = tools
    .filter(({ name }) => name.endsWith('_incident'))
    .map(({ description }) => description);
  expect(descriptions).toEqual([
    expect.stringMatching(/ of one monitor in the name of the key,/),
    expect.stringMatching(/ of one monitor that is down\.$/),
  ]);
});
