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

test('a person is called alike, by a message and by a line under it, and nobody else', async () => {
  const { fake, slack } = await makeSlack();
  const title = '<!channel> <@U00BOB>';
  const card: Card = { ...CARD, title, mention: '@U00ADA' };
  const posted = await slack.post({ ...post, card });
  const [message] = fake.messages(CHANNEL);
  expect(message?.called).toEqual(['U00ADA']);
  expect(message?.text).toBe('<@U00ADA> 🔴 &lt;!channel&gt; &lt;@U00BOB&gt;');
  await slack.announce({ ...post, posted, card, mention: '@U00ADA', id: 'alert-1/escalation' });
  const lines = fake.thread(CHANNEL, posted.thread);
  expect(lines.map(({ called }) => called)).toEqual([['U00ADA']]);
  expect(lines.map(({ text }) => text)).toEqual([message?.text]);
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

test.each([
  'here',
  '@here',
  '@S0614TZR7',
  '@U00ADA> <!channel',
  'everyone',
  '@oncall',
  'U00ADA',
  'S',
  's0614tzr7',
  'S0614TZR7> <!channel',
  '1234567890123456789',
  '',
])(
  '“%s” is no user group: nobody is called, nothing is shown, and the log says so',
  async (mention) => {
    const { fake, slack, lines } = await makeSlack();
    const posted = await slack.post({ ...post, card: { ...CARD, mention } });
    await slack.update(CHANNEL, posted, { ...CARD, mention });
    const [message] = fake.messages(CHANNEL);
    expect(message).toMatchObject({ called: [], text: '🔴 Shop is down' });
    expect(message && shownText(message)).toBe('🔴 Shop is down');
    expect(lines).toContainEqual(expect.objectContaining({ level: 40, mention }));
  },
);
