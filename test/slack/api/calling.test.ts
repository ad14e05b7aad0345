import { expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import { makeSlack } from '../../helpers/slack/running-slack.ts';

const GROUP = 'S0614TZR7';
const CARD: Card = { tone: 'bad', title: 'Shop is down', parts: [], mention: GROUP };
const post = { channel: CHANNEL, card: CARD, id: 'alert-1', attempted: false };

test('an alert calls its user group when it is posted, and shows it from then on', async () => {
  const { fake, slack } = await makeSlack();
  const posted = await slack.post(post);
  const [message] = fake.messages(CHANNEL);
  expect(message).toMatchObject({ called: [GROUP], text: `<!subteam^${GROUP}> 🔴 Shop is down` });
  expect(message && shownText(message)).toBe(`@${GROUP}\n🔴 Shop is down`);
  expect(message?.blocks).toMatchObject([
    {
      type: 'rich_text',
      elements: [
        { type: 'rich_text_section', elements: [{ type: 'usergroup', usergroup_id: GROUP }] },
      ],
    },
    { type: 'header' },
  ]);
  await slack.update(CHANNEL, posted, { ...CARD, tone: 'good', title: 'Shop recovered' });
  expect(message && shownText(message)).toBe(`@${GROUP}\n🟢 Shop recovered`);
  await slack.announce({ ...post, posted, id: 'alert-1/end' });
  expect(fake.thread(CHANNEL, posted.thread).map(({ called }) => called)).toEqual([[]]);
});

test('a message has an address, which Slack is asked for', async () => {
  const { fake, slack } = await makeSlack();
  const posted = await slack.post(post);
  const address = await slack.linkTo?.(CHANNEL, posted);
  expect(address).toBe(
    `https://fake.slack.com/archives/${CHANNEL}/p${posted.message.replace('.', '')}`,
  );
  expect(fake.unhandled).toEqual([]);
  await expect(slack.linkTo?.(CHANNEL, { ...posted, message: '1.000001' })).rejects.toThrow();
});
