import { expect, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

const ONCALL = 'C00ONCALL';
const LINE = `escalate after 10m to <#${ONCALL}|oncall> <@U00ADA|ada>`;
const SET =
  'An outage that nobody acknowledges within 10 minutes is posted in #oncall and mentions @ada';

test.each(['typed as a command', 'said to the bot'])(
  'a channel and a person that somebody chose are set when they are %s',
  async (how) => {
    const { fake } = await runSlack();
    fake.addChannel({ id: ONCALL });
    fake.scopes.add('users:read');
    fake.profiles.set('U00ADA', { is_admin: true });
    fake.profiles.set('U00BOB', { is_admin: false });
    if (how === 'said to the bot') fake.mention(`/monitor ${LINE}`, { user: 'U00ADA' });
    else await fake.slash('/monitor', LINE, { user: 'U00ADA' });
    const shown = () => fake.messages(CHANNEL).map(shownText).join('\n');
    await eventually(() => shown().includes(SET));
    await fake.slash('/monitor', 'escalate');
    await eventually(() => fake.whispers(CHANNEL).join().includes(SET));
    // The refusal notifies nobody.
    await fake.slash('/monitor', LINE, { user: 'U00BOB' });
    await eventually(() => fake.whispers(CHANNEL, 'U00BOB').join().includes('Only people'));
    expect(fake.messages(CHANNEL).flatMap(({ called = [] }) => called)).toEqual([]);
  },
);
