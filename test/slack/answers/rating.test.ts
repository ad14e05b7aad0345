import { expect, test } from 'vitest';
import { exportedLines } from '../../../src/bot/feedback/export.ts';
import { createFeedback } from '../../../src/bot/feedback/feedback.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const ADA = 'U00ADA';

/** Slack on a folder, with what is kept of ratings once it has stopped. */
async function start() {
  const folder = await temporaryFolder();
  const running = await runSlack({ bot: { folder } });
  async function exported() {
    await running.slack.stop();
    await running.bot.stop();
    const store = await openTestStore({ folder, log: recordingLog().log });
    const lines: unknown[] = [];
    for await (const line of exportedLines(
      createFeedback(store, { days: 90 }),
      {},
      (text) => text,
    )) {
      lines.push(JSON.parse(line));
    }
    await store.close();
    return lines;
  }
  return { ...running, exported };
}

/** Asks; gives the whole answer in its thread, once it can be rated. */
async function ask(fake: SlackFake, channel = CHANNEL) {
  const before = fake.messages(channel).length;
  await fake.slash('/ask', 'why?', { channel });
  const root = await eventually(() => fake.messages(channel)[before]);
  return await eventually(() => {
    const last = fake.thread(channel, root.ts).at(-1);
    return last && labelsOf(last).includes('👎') && last;
  });
}

const whispers = (fake: SlackFake, count: number, user = ADA) =>
  eventually(() => {
    const seen = fake.whispers(CHANNEL, user);
    return seen.length >= count && seen;
  });
test('👎 counts where the form is closed, and where Slack shows none', async () => {
  const { fake, exported } = await start();
  const answer = await ask(fake);
  fake.fail('views.open', { kind: 'error', error: 'expired_trigger_id' });
  await fake.press('👎', { ts: answer.ts });
  expect((await whispers(fake, 1))[0]).toContain('rated 👎');
  expect(fake.form()).toBeUndefined();
  await fake.press('👎', { ts: answer.ts, user: 'U00GRACE' });
  await eventually(() => fake.form());
  await whispers(fake, 1, 'U00GRACE');
  expect(await exported()).toMatchObject([{ down: 2 }]);
});
test('what is too long is said in the form, which stays', async () => {
  const { fake, exported } = await start();
  const answer = await ask(fake);
  await fake.press('👎', { ts: answer.ts });
  await eventually(() => fake.form());
  await whispers(fake, 1);
  await fake.submit({ what: 'x'.repeat(1_001) });
  expect(fake.form()?.errors.what).toContain('too long: at most 1000 characters');
  await fake.submit({ what: 'x'.repeat(1_000) });
  await whispers(fake, 2);
  expect(await exported()).toMatchObject([{ wrong: [{ what: 'x'.repeat(1_000) }] }]);
});

test('a private answer has two plain thumbs, and a form that asks what may be kept', async () => {
  const { fake, bot, exported } = await start();
  bot.provider.answerWith('Quietly.');
  await fake.slash('/ask', 'private=true psst?');
  const whispered = await eventually(() =>
    fake.channel(CHANNEL).ephemerals.find((one) => labelsOf(one).includes('👎')),
  );
  expect(JSON.stringify(whispered.blocks)).not.toContain('context_actions');
  await fake.press('👎', { ts: whispered.ts });
  const { view } = await eventually(() => fake.form());
  expect(view.blocks.map(({ block_id }) => block_id)).toEqual(['reason', 'what', 'keep']);
  await eventually(() => fake.whispers(CHANNEL, ADA).some((text) => text.includes('rated 👎')));
  await fake.submit({ keep: 'the question and the answer, too' });
  await eventually(() =>
    fake.whispers(CHANNEL, ADA).some((text) => text.includes('Your comment is saved')),
  );
  expect(await exported()).toMatchObject([
    { private: true, down: 1, question: 'psst?', answer: 'Quietly.' },
  ]);
});

test('a form that nobody of ours opened rates nothing', async () => {
  const { fake, exported } = await start();
  const answer = await ask(fake);
  const rated = JSON.stringify(answer.blocks).match(/answer=([\w-]+)/)?.[1] ?? '';
  const origin = { command: 'answer explain', channel: 'C00OTHER', carried: { answer: rated } };
  const view = {
    ...{ id: 'V1', hash: '1', callback_id: 'askwatch-form' },
    private_metadata: JSON.stringify({ ...origin, thread: answer.thread_ts }),
    state: { values: {} },
  };
  await fake.interact({ type: 'view_submission', user: { id: ADA, name: 'ada' }, view });
  const deep = JSON.stringify({ ...origin, carried: { answer: { a: 1 } }, thread: 'no' });
  await fake.interact({
    ...{ type: 'view_submission', user: { id: ADA, name: 'ada' } },
    view: { ...view, id: 'V2', private_metadata: deep },
  });
  expect(await exported()).toEqual([]);
});

test('the two thumbs are Slack’s own, beside the other buttons', async () => {
  const { fake } = await start();
  const answer = await ask(fake);
  expect(labelsOf(answer)).toEqual(['Regenerate', '👍', '👎']);
  const blocks = answer.blocks as Array<{ type: string; elements: object[] }>;
  expect(blocks.map(({ type }) => type).slice(-2)).toEqual(['actions', 'context_actions']);
  // Slack requires another id with each edit, and creates one if there is none.
  expect(blocks.at(-1)).not.toHaveProperty('block_id');
  expect(blocks.at(-1)?.elements).toMatchObject([
    {
      type: 'feedback_buttons',
      positive_button: { text: { text: '👍' }, accessibility_label: 'Good answer' },
      negative_button: { text: { text: '👎' }, accessibility_label: 'Bad answer' },
    },
  ]);
  expect(fake.unhandled).toEqual([]);
});
