import { expect, test } from 'vitest';
import { EXAMPLE_MS, exampleAlert } from '../../../src/bot/intake/example-alert.ts';
import { eventually } from '../../helpers/eventually.ts';
import { openIntakeServer } from '../../helpers/intake/intake-server.ts';

test('an example that nobody ends is ended, also when whoever began it is gone', async () => {
  const { receiver, intake, slack } = await openIntakeServer();
  const begunMs = Date.now() - EXAMPLE_MS - 1_000;
  const alerts = [exampleAlert(intake, 'firing', begunMs)];
  await receiver.take(intake, { alerts, truncated: 0 });
  await eventually(() => slack.messages[0]?.card.tone === 'good');
  expect(slack.messages).toHaveLength(1);
});

test('an alert of a sender is not taken for an example', async () => {
  const { receiver, intake, intakes, slack } = await openIntakeServer();
  const C2 = { platform: 'slack', channel: 'C2' };
  const { intake: other } = await intakes.add(C2, { kind: 'generic', by: 'Amy' });
  const old = exampleAlert(intake, 'firing', Date.now() - EXAMPLE_MS - 1_000);
  await receiver.take(intake, { alerts: [{ ...old, key: 'another' }], truncated: 0 });
  await receiver.take(other, { alerts: [old], truncated: 0 });
  const toneIn = (channel: string) =>
    slack.messages.find((message) => message.channel === channel)?.card.tone;
  await eventually(() => toneIn('C2') === 'good');
  expect(toneIn('C1')).toBe('warning');
});
