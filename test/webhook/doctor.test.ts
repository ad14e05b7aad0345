import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { createProbe } from '../../src/cli/doctor-fetch.ts';
import { checkWebhooks } from '../../src/webhook/doctor.ts';
import { AnyJson, startWebhookReceiver } from '../fakes/webhook-receiver.ts';
import { listen } from '../helpers/http/listen.ts';

const { fetch } = createProbe();

test('the doctor finds that a host answers, even with a refusal or a redirect, and posts nothing', async () => {
  const receiver = await startWebhookReceiver(AnyJson);
  const redirecting = createServer((_request, response) =>
    response.writeHead(302, { location: '/login' }).end(),
  );
  const addresses = [
    `${receiver.url}/hunter2`,
    `http://127.0.0.1:${await listen(redirecting)}/hunter2`,
  ];
  const found = await checkWebhooks({ addresses, secret: 'secret', fetch });
  expect(found.map(({ level, text }) => [level, text])).toEqual([
    ['ok', 'its host answers'],
    ['ok', 'its host answers'],
  ]);
  expect(JSON.stringify(found)).not.toContain('hunter2');
  expect(receiver.posts).toEqual([]);
});

test('the doctor names a host that can’t be reached, and posts that aren’t signed', async () => {
  const address = `http://127.0.0.1:9/hunter2`;
  const found = await checkWebhooks({ addresses: [address], fetch });
  expect(found).toMatchObject([
    { level: 'problem', text: expect.stringMatching(/^Its host can’t be reached: .*ECONNREFUSED/) },
    { level: 'warning', text: expect.stringContaining('Set WEBHOOK_SECRET') },
  ]);
  const forPagerDuty = `${address}?routing_key=k#pagerduty`;
  expect(await checkWebhooks({ addresses: [forPagerDuty], fetch })).toHaveLength(1);
  expect(await checkWebhooks({ addresses: [], fetch })).toMatchObject([{ level: 'ok' }]);
});
