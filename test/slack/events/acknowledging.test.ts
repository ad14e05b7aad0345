import { expect, onTestFinished, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { holdable } from '../../helpers/held.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { type Mode, runSlack } from '../../helpers/slack/running-slack.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

test.each<Mode>(['socket', 'http'])(
  'over %s no gesture is acknowledged that is not stored in time, and each is carried out once it is',
  async (mode) => {
    const opened = await openTestStore({
      ...{ folder: await temporaryFolder(), log: recordingLog().log },
    });
    onTestFinished(() => opened.close());
    const held = holdable(opened);
    const provider = await startModelProvider();
    const service = await startMonitoringService({ limit: false });
    onTestFinished(() => Promise.all([provider.close(), service.close()]).then(() => undefined));
    const bot = { store: held.store, provider, service };
    const { fake } = await runSlack({ mode, storeMs: 300, bot });
    const thread = fake.mention('why?');
    await eventually(() =>
      fake.thread(CHANNEL, thread).some((one) => labelsOf(one).includes('Regenerate')),
    );
    await fake.slash('/monitor', 'add');
    await eventually(() => fake.form());

    // From here on nothing that the bot needs comes back.
    fake.ackWithinMs = 900;
    const releases = [held.hold(), provider.holdAnswers()];
    const release = () => {
      for (const one of releases) one();
    };
    // Also where it fails, or what is stopped then would wait for ever.
    onTestFinished(release);
    service.failWith({ kind: 'hang' });
    const gestures = {
      form: fake.submit({ target: 'https://shop.example' }),
      question: fake.slash('/ask', 'and now?'),
      private: fake.slash('/ask', 'private=true and now?'),
      list: fake.slash('/monitor', 'list'),
      button: fake.press('Regenerate'),
      bare: fake.slash('/monitor', 'add'),
    };
    const acks = Object.entries(gestures).map(async ([name, ack]) => [
      name,
      (await ack).ms !== undefined,
    ]);
    // A form is opened without anything being stored.
    for (const ack of await Promise.all(acks)) expect(ack).toEqual([ack[0], ack[0] === 'bare']);
    await eventually(() => held.waiting() > 0);
    expect(provider.calls).toHaveLength(1);

    service.recover();
    release();
    await eventually(() => provider.calls.length > 1);
  },
);

/** A bot on a store that notes nothing while it is away. */
async function onStoreThatGoes(mode: Mode, storeMs?: number) {
  const opened = await openTestStore({
    ...{ folder: await temporaryFolder(), log: recordingLog().log },
  });
  onTestFinished(() => opened.close());
  const held = holdable(opened);
  let isAway = false;
  const store: Store = {
    ...held.store,
    claims(declaration) {
      const claims = held.store.claims(declaration);
      return {
        ...claims,
        async claim(...what) {
          if (isAway) throw new Error('The store is away.');
          return await claims.claim(...what);
        },
      };
    },
  };
  const running = await runSlack({ mode, ...(storeMs && { storeMs }), bot: { store } });
  const setAway = (away: boolean) => {
    isAway = away;
  };
  return { ...running, held, setAway };
}

test.each<Mode>(['socket', 'http'])(
  'over %s a gesture is acknowledged after it is stored, and so is a message',
  async (mode) => {
    const { fake, held, bot } = await onStoreThatGoes(mode, 60_000);
    await fake.slash('/ask', 'first');
    await eventually(() => fake.channel(CHANNEL).messages.length === 2);
    await eventually(() => labelsOf(fake.channel(CHANNEL).messages[1] ?? {}).includes('👍'));
    const gestures = [
      () => fake.slash('/ask', 'and now?'),
      () => fake.press('👍'),
      () => fake.event(mentionOf(fake)),
    ];
    for (const gesture of gestures) {
      const release = held.hold();
      const before = held.waiting();
      let isStored = false;
      const acked = gesture().then(({ ms }) => [ms !== undefined, isStored]);
      await eventually(() => held.waiting() > before);
      isStored = true;
      release();
      expect(await acked).toEqual([true, true]);
    }
    await eventually(() => bot.provider.calls.length === 3);
  },
);

test.each<Mode>(['socket', 'http'])(
  'over %s a message that cannot be stored is not acknowledged, and is answered once when it comes again',
  async (mode) => {
    const { fake, setAway, bot } = await onStoreThatGoes(mode);
    fake.clock.set(0);
    fake.ackWithinMs = 900;
    setAway(true);
    expect((await fake.event(mentionOf(fake))).ms).toBeUndefined();
    // The first repeat comes at once.
    await eventually(() => fake.acks.length === 2);
    expect(fake.acks.map(({ ms }) => ms)).toEqual([undefined, undefined]);
    if (mode === 'http') {
      expect(fake.acks.map((ack) => 'status' in ack && ack.status)).toEqual([503, 503]);
    }
    setAway(false);
    fake.clock.advance(60_000);
    await eventually(() => bot.provider.calls.length === 1);
    await eventually(() => fake.acks.length === 3);
    expect(fake.acks[2]?.ms).toBeDefined();
    expect(fake.whispers(CHANNEL)).toEqual([]);
    expect((await fake.redeliver()).ms).toBeDefined();
    expect(bot.provider.calls).toHaveLength(1);
  },
);

test('a message that Slack sends no more and a command, neither of which can be stored, are acknowledged, and the person is told', async () => {
  const { fake, setAway, bot } = await onStoreThatGoes('http');
  fake.clock.set(0);
  setAway(true);
  void fake.event(mentionOf(fake));
  await eventually(() => fake.acks.length === 2);
  fake.clock.advance(60_000);
  await eventually(() => fake.acks.length === 3);
  expect(fake.whispers(CHANNEL)).toEqual([]);
  fake.clock.advance(300_000);
  await eventually(() => fake.acks.length === 4);
  expect(fake.acks[3]?.ms).toBeDefined();
  await eventually(() => fake.whispers(CHANNEL).length === 1);
  expect((await fake.slash('/ask', 'and now?')).ms).toBeDefined();
  await eventually(() => fake.whispers(CHANNEL).length === 2);
  expect(bot.provider.calls).toEqual([]);
});

/** The event of a message that somebody wrote. */
function mentionOf(fake: SlackFake) {
  const written = { ts: '1799999999.000100', user: 'U00ADA' };
  const text = `<@${fake.botUserId}> and now?`;
  fake.channel(CHANNEL).messages.push({ ...written, text, edits: 0 });
  return { ...written, text, type: 'app_mention', channel: CHANNEL };
}

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
