import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import { testDelivery } from '../../helpers/platform-contract/delivery.ts';
import { makeSlack } from '../../helpers/slack/running-slack.ts';

testDelivery(
  async () => {
    const { fake, slack, lines } = await makeSlack();
    return {
      ...{ channel: CHANNEL, platform: slack, lines, group: 'S0614TZR7', person: '@U00ADA' },
      shown: () =>
        fake.inChannel(CHANNEL).map((message) => ({
          ...{ id: message.ts, text: shownText(message), notified: message.called ?? [] },
        })),
      replies: (message) =>
        fake.thread(CHANNEL, message).map((reply) => ({
          ...{ id: reply.ts, text: shownText(reply), notified: reply.called ?? [] },
          quiet: reply.subtype !== 'thread_broadcast',
        })),
      loseAnswer(how) {
        const fault = how === 'drop' ? { kind: how } : { kind: how, status: 503 };
        fake.fail('chat.postMessage', { ...fault, stored: true });
      },
      failLook: () => fake.fail('conversations.history', { kind: 'status', status: 500 }),
      remove: (message) => fake.remove(CHANNEL, message),
    };
  },
  {
    notGroups: [
      ...['here', '@here', '@S0614TZR7', '@U00ADA> <!channel', 'everyone', '@oncall', 'U00ADA'],
      ...['S', 's0614tzr7', 'S0614TZR7> <!channel', '1234567890123456789', ''],
    ],
  },
);
