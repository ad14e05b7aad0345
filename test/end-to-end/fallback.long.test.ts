import { expect, test } from 'vitest';
import { CHANNEL, startSlack } from '../fakes/slack/slack.ts';
import { AnyJson, startWebhookReceiver } from '../fakes/webhook-receiver.ts';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { startWatched } from '../helpers/end-to-end/services.ts';
import { shown, socketMode } from '../helpers/end-to-end/slack-program.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

test('an alert that Slack doesn’t accept for two minutes arrives at the fallback once, over two kills', async () => {
  const slack = await startSlack();
  const receiver = await startWebhookReceiver(AnyJson);
  const watched = await startWatched(`slack:${CHANNEL}`);
  const shop = watched.service.add({ name: 'Shop' });
  const options = {
    dataDir: await temporaryFolder(),
    env: {
      ...socketMode(slack),
      ...watched.env,
      MONITOR_ALLOW_PRIVATE: '127.0.0.1/32',
      WHO_MAY_MANAGE: 'everyone',
    },
  };
  let askwatch = await startAskwatch(options);
  const address = `${receiver.url}/services/hunter2-abcd`;
  await slack.slash('/monitor', `alerts on fallback=${address}`);
  await eventually(() => slack.whispers(CHANNEL).some((text) => text.includes('…abcd')));
  await eventually(() => watched.service.requests.length > 1);
  const outputs: string[] = [];
  async function restart() {
    await askwatch.kill();
    slack.killed();
    outputs.push(askwatch.output());
    askwatch = await startAskwatch(options);
  }

  slack.fail('chat.postMessage', { kind: 'status', status: 503 }, { times: 10_000 });
  watched.service.setStatus(shop.id, 'DOWN');
  await eventually(() => slack.calls.some(({ method }) => method === 'chat.postMessage'));
  await restart();
  const titles = () => receiver.posts.map(({ body }) => String(body.title));
  await eventually(() => titles().includes('Shop is down'), { withinMs: 200_000 });
  await restart();
  slack.recover();
  await eventually(() => shown(slack).some((text) => text.includes('Shop is down')), {
    withinMs: 200_000,
  });
  watched.service.setStatus(shop.id, 'UP');
  await eventually(() => titles().some((title) => title.startsWith('Shop recovered')));
  await askwatch.stop();
  const [, down, ...rest] = receiver.posts;
  expect(down?.body.text).toMatch(/^Slack can’t be reached since: /);
  expect(new Set(rest.map(({ body }) => body.id))).toEqual(new Set([down?.body.id]));
  // A post whose outcome the kill kept from the disk is repeated, recognizably.
  const openings = rest.filter(({ body }) => body.event === 'opened');
  const deliveries = [down, ...openings].map((one) => one?.headers['x-askwatch-delivery']);
  expect(new Set(deliveries).size).toBe(1);
  expect(shown(slack).filter((text) => text.includes('Shop'))).toHaveLength(1);
  expect([...outputs, askwatch.output()].join('\n')).not.toContain('hunter2');
}, 600_000);
