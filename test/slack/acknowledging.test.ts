import { expect, test } from 'vitest';
import { CHANNEL } from '../fakes/slack.ts';
import { labelsOf } from '../fakes/slack-buttons.ts';
import { eventually } from '../support/eventually.ts';
import { type Mode, runSlack } from './running-slack.ts';

/** Whatever is called to show something, or to learn who may do what. */
const METHODS = [
  'agents.sessions.setStatus',
  'assistant.threads.setSuggestedPrompts',
  'chat.postEphemeral',
  'chat.postMessage',
  'chat.startStream',
  'chat.update',
  'conversations.history',
  'conversations.replies',
  'usergroups.users.list',
  'users.info',
  'views.open',
  'views.publish',
  'views.update',
];

test.each<Mode>(['socket', 'http'])(
  'over %s everything is acknowledged within three seconds, while nothing answers that could be asked',
  async (mode) => {
    const { fake, bot } = await runSlack({ mode, drainMs: 1 });
    const direct = fake.addChannel({ id: 'D00ADA' }).id;
    await fake.slash('/ask', 'hello');
    await eventually(() => labelsOf(fake.channel(CHANNEL).messages[1] ?? {}).length === 3);
    await fake.slash('/monitor', 'add');
    await eventually(() => fake.form());
    bot.provider.holdAnswers();
    bot.service.failWith({ kind: 'hang' });
    for (const method of METHODS) fake.fail(method, { kind: 'hang' }, { times: 100 });
    const acks = await Promise.all([
      fake.slash('/ask', 'held'),
      fake.slash('/monitor', 'list'),
      fake.slash('/monitor', 'add'),
      fake.slash('/nonsense', ''),
      fake.press('Regenerate'),
      fake.press('👍'),
      fake.choose('type', 'KEYWORD'),
      fake.submit({ target: 'https://shop.example' }),
      fake.home.open(),
      fake.home.open({ tab: 'messages' }),
    ]);
    const before = fake.acks.length;
    fake.mention('held, too');
    fake.say('held, too', { channel: direct });
    await eventually(() => fake.acks.length >= before + 3);
    expect([...acks, ...fake.acks].filter((ack) => ack && ack.ms === undefined)).toEqual([]);
    // Each of them came once: what is late comes again.
    expect(fake.acks).toHaveLength(before + 3);
  },
);
