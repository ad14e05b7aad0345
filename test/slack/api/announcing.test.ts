import { expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { makeSlack } from '../../helpers/slack/running-slack.ts';

const ALERT: Card = { tone: 'bad', title: 'Shop is down', parts: [] };
const OVER: Card = { tone: 'good', title: 'Shop recovered after 5 minutes', parts: [] };
const SHOWN = '🟢 Shop recovered after 5 minutes';

/** A channel with an alert, and the line that is to be said under it. */
async function startWithAlert() {
  const running = await makeSlack();
  const { slack } = running;
  const posted = await slack.post({ channel: CHANNEL, card: ALERT, id: 'a1', attempted: false });
  const line = { channel: CHANNEL, posted, card: OVER, id: 'a1/end', attempted: false };
  const announce = (more: Partial<typeof line> = {}) => slack.announce({ ...line, ...more });
  return { ...running, posted, announce };
}

const inChannel = (fake: SlackFake) => fake.inChannel(CHANNEL).map(shownText);

test('a line stands in the thread of its alert and in the channel, and calls nobody', async () => {
  const { fake, posted, announce } = await startWithAlert();
  await announce();
  expect(inChannel(fake)).toEqual(['🔴 Shop is down', SHOWN]);
  const replies = fake.thread(CHANNEL, posted.thread);
  expect(replies.map(shownText)).toEqual([SHOWN]);
  expect(replies[0]).toMatchObject({
    text: SHOWN,
    subtype: 'thread_broadcast',
    called: [],
    metadata: { event_type: 'askwatch_alert', event_payload: { id: 'a1/end' } },
  });
  expect(fake.unhandled).toEqual([]);
});

test.each([
  [
    'a deleted alert that had replies',
    (fake: SlackFake, ts: string) => {
      fake.say('looking', { threadTs: ts });
      fake.remove(CHANNEL, ts);
    },
    /deleted/,
  ],
  [
    'a locked thread',
    (fake: SlackFake) => {
      for (const message of fake.messages(CHANNEL)) message.locked = true;
    },
    /locked/,
  ],
  [
    'a bot that left',
    (fake: SlackFake) => {
      fake.channel(CHANNEL).member = false;
    },
    /invite/,
  ],
  ['a lost scope', (fake: SlackFake) => void fake.scopes.delete('chat:write'), /chat:write/],
] as const)('under %s a line is refused for good', async (_what, change, says) => {
  const { fake, posted, announce } = await startWithAlert();
  change(fake, posted.message);
  const before = fake.channel(CHANNEL).messages.length;
  for (const attempted of [false, true]) {
    const tried = announce({ attempted });
    await expect(tried).rejects.toMatchObject({ name: 'DeliveryError', permanent: true });
    await expect(tried).rejects.toThrow(says);
  }
  expect(fake.channel(CHANNEL).messages).toHaveLength(before);
});

test('a hostile title calls nobody and forges nothing', async () => {
  const { fake, posted, announce } = await startWithAlert();
  const title =
    '<!channel> <!subteam^S0AAAAAAA> <@U00ADA> @here <https://evil.example|bank> *b*\n> x';
  await announce({ card: { ...OVER, title } });
  const [line] = fake.thread(CHANNEL, posted.thread);
  expect(line?.called).toEqual([]);
  expect(line?.text).not.toMatch(/[<>]/);
  expect(line?.blocks).toEqual([
    {
      type: 'rich_text',
      elements: [
        {
          type: 'rich_text_section',
          elements: [{ type: 'text', text: `🟢 ${title.replace('\n', ' ')}` }],
        },
      ],
    },
  ]);
});
