import { expect, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import type { Channel } from '../../fakes/slack/workspace.ts';
import { closeAndOpen } from '../../helpers/alert-story.ts';
import { makeSlack } from '../../helpers/slack/running-slack.ts';

test.each<{
  name: string;
  kind?: Channel['kind'];
  closed: Partial<Channel>;
  open: Partial<Channel>;
}>([
  { name: 'that was archived', closed: { archived: true }, open: { archived: false } },
  { name: 'without the bot', closed: { member: false }, open: { member: true } },
  {
    name: 'without the bot, and private',
    kind: 'private',
    closed: { member: false },
    open: { member: true },
  },
])('a channel $name is told once it is open what it missed and is still on', async (given) => {
  const { fake, slack } = await makeSlack();
  const channel = fake.channel(CHANNEL);
  Object.assign(channel, { kind: given.kind ?? channel.kind });
  await closeAndOpen(slack, CHANNEL, {
    close: () => void Object.assign(channel, given.closed),
    open: () => void Object.assign(channel, given.open),
  });
  const shown = fake.messages(CHANNEL).map(shownText);
  expect(shown.map((text) => text.split('\n')[0])).toEqual([
    expect.stringContaining('🟢 Shop recovered'),
    expect.stringContaining('🔴 2 monitors are DOWN'),
  ]);
  expect(shown[1]).toContain('Blog');
  expect(shown[1]).toContain('Mail');
  expect(shown[1]).not.toContain('News');
  const refused = fake.calls.filter(({ outcome }) => outcome !== 'ok');
  // One for a change and one for something new, and then one now and then.
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThanOrEqual(5);
  expect(fake.unhandled).toEqual([]);
});
