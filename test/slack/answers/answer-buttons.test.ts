import { expect, test } from 'vitest';
import { labelsOf, pressPayload } from '../../fakes/slack/buttons.ts';
import { blocksProblem, shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import type { Message } from '../../fakes/slack/workspace.ts';
import { eventually } from '../../helpers/eventually.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

const GRACE = { user: 'U00GRACE' };
const WHOLE = ['Regenerate', '👍', '👎'];

/** The last message of a thread once it has these buttons. */
async function shows(fake: SlackFake, thread: string, labels: string[]): Promise<Message> {
  return await eventually(
    () => {
      const last = fake.thread(CHANNEL, thread).at(-1);
      return last && JSON.stringify(labelsOf(last)) === JSON.stringify(labels) && last;
    },
    { what: `the buttons ${labels.join(', ')}` },
  );
}

/** Asks in the channel; gives the thread of the answer. */
async function ask(fake: SlackFake, question: string): Promise<string> {
  const before = fake.messages(CHANNEL).length;
  await fake.slash('/ask', question);
  return (await eventually(() => fake.messages(CHANNEL)[before])).ts;
}

test('“Stop” ends an answer for everyone, says who pressed, and gives way to “Try again”', async () => {
  const { fake, bot } = await runSlack();
  bot.provider.answerWith(['one ', 'two ']);
  bot.provider.failWith({ kind: 'stall', afterChunks: 2 });
  const thread = await ask(fake, 'count');
  const growing = await shows(fake, thread, ['Stop']);
  await eventually(() => shownText(growing).includes('one two'));
  await fake.press('Stop', { ...GRACE, ts: growing.ts });
  await shows(fake, thread, ['Try again']);
  expect(shownText(growing)).toMatch(/one two[\s\S]*Stopped by grace\./);
  bot.provider.recover();
  bot.provider.answerWith('one two three');
  await fake.press('Try again', { ...GRACE, ts: growing.ts });
  const whole = await shows(fake, thread, WHOLE);
  expect(shownText(whole)).toContain('one two three');
  await eventually(() => labelsOf(growing).length === 0);
  expect(shownText(growing)).toMatch(
    /one two[\s\S]*Stopped by grace\.[\s\S]*Answered again below\./,
  );
  expect(fake.unhandled).toEqual([]);
});

test('“Regenerate” answers again below, in place of the first, which loses its buttons and says so', async () => {
  const { fake, bot } = await runSlack();
  bot.provider.answerWith('Once.');
  const thread = await ask(fake, 'why?');
  const first = await shows(fake, thread, WHOLE);
  const before = { ...first };
  bot.provider.answerWith('Twice.');
  await fake.press('Regenerate', { ...GRACE, ts: first.ts });
  const second = await eventually(() => {
    const shown = fake.thread(CHANNEL, thread);
    const [old, , anew] = shown;
    return old && labelsOf(old).length === 0 && anew && labelsOf(anew).length === 3 && anew;
  });
  expect(fake.thread(CHANNEL, thread).map(shownText)).toEqual([
    expect.stringMatching(/Once\.[\s\S]*test-model[\s\S]*Answered again below\./),
    expect.stringMatching(/^grace asks\nwhy\?/),
    expect.stringContaining('Twice.'),
  ]);
  // Who looks at it still as it was.
  const late = { channel: CHANNEL, user: 'U00ADA', label: 'Regenerate', count: 900 };
  const where = { ephemeral: false, replied: false, responseUrl: '' };
  const ids = { botUserId: 'U00BOT', teamId: 'T00FAKE' };
  await fake.interact(pressPayload({ shown: before, ...late, ...where, ...ids }));
  const [refused] = await eventually(() => {
    const seen = fake.whispers(CHANNEL, late.user);
    return seen.length > 0 && seen;
  });
  expect(refused).toContain('grace pressed this first. The result is below this answer.');
  fake.say('and then?', { threadTs: thread });
  await eventually(() => bot.provider.calls.length === 3);
  const told: Array<{ content: string }> = bot.provider.calls[2]?.body.messages ?? [];
  expect(told.map(({ content }) => content).slice(1)).toEqual(['why?', 'Twice.', 'and then?']);
  expect(labelsOf(second)).toEqual(WHOLE);
});

test('a thumb is thanked for where nobody else sees it', async () => {
  const { fake } = await runSlack();
  const thread = await ask(fake, 'why?');
  const answer = await shows(fake, thread, WHOLE);
  await fake.press('👍', { ...GRACE, ts: answer.ts });
  await eventually(() => fake.whispers(CHANNEL, GRACE.user).length === 1);
  expect(fake.whispers(CHANNEL, GRACE.user)[0]).toContain('Thank you, rated 👍');
  expect(fake.whispers(CHANNEL)).toEqual([]);
});

test('“Share” shows a private answer to everyone, in a thread that goes on', async () => {
  const { fake, bot } = await runSlack();
  bot.provider.answerWith('Quietly.');
  await fake.slash('/ask', 'private=true why?', GRACE);
  const whispered = await eventually(() =>
    fake.channel(CHANNEL).ephemerals.find((one) => labelsOf(one).includes('Share')),
  );
  expect(fake.messages(CHANNEL)).toEqual([]);
  await fake.press('Share', { ...GRACE, ts: whispered.ts });
  const root = await eventually(() => fake.messages(CHANNEL)[0]);
  expect(shownText(root)).toMatch(/^grace asks\nwhy\?/);
  const answer = await shows(fake, root.ts, WHOLE);
  expect(shownText(answer)).toContain('Quietly.');
  fake.say('and then?', { threadTs: root.ts });
  await eventually(() => bot.provider.calls.length === 2);
  const told: Array<{ content: string }> = bot.provider.calls[1]?.body.messages ?? [];
  expect(told.map(({ content }) => content).slice(1)).toEqual(['why?', 'Quietly.', 'and then?']);
});

test('of a long answer only the last message has buttons, at no cost of further calls', async () => {
  const { fake, bot } = await runSlack();
  const text = Array.from({ length: 30 }, (_, at) => `Paragraph ${at}. ${'word '.repeat(60)}`);
  bot.provider.answerWith(text.join('\n\n'));
  const thread = await ask(fake, 'tell all');
  await shows(fake, thread, WHOLE);
  const shown = fake.thread(CHANNEL, thread);
  expect(shown.length).toBeGreaterThan(2);
  expect(shown.slice(0, -1).flatMap(labelsOf)).toEqual([]);
});

test('“Continue” goes on below, and is no longer under the first part, which can still be rated', async () => {
  const { fake, bot } = await runSlack();
  bot.provider.answerWith('Half', { finishReason: 'length' });
  const thread = await ask(fake, 'tell all');
  const half = await shows(fake, thread, ['Continue', ...WHOLE]);
  bot.provider.answerWith(' and half.');
  await fake.press('Continue', { ts: half.ts });
  const rest = await shows(fake, thread, WHOLE);
  expect(shownText(rest)).toContain('and half.');
  await eventually(() => labelsOf(half).length === 2);
  expect(labelsOf(half)).toEqual(['👍', '👎']);
  // Slack wants another name for a block with each edit, and gives one where there is none.
  const last = (half.blocks as object[]).at(-1);
  expect(last).toMatchObject({ type: 'context_actions' });
  expect(last).not.toHaveProperty('block_id');
  expect(shownText(half)).toMatch(/Half[\s\S]*Continued below\./);
});

test('the two thumbs are Slack’s own, beside the other buttons', async () => {
  const { fake } = await runSlack();
  const answer = await shows(fake, await ask(fake, 'why?'), WHOLE);
  const blocks = answer.blocks as Array<{ type: string; elements: object[] }>;
  expect(blocks.map(({ type }) => type).slice(-2)).toEqual(['actions', 'context_actions']);
  expect(blocks.at(-1)?.elements).toMatchObject([
    {
      type: 'feedback_buttons',
      positive_button: { text: { text: '👍' }, accessibility_label: 'Good answer' },
      negative_button: { text: { text: '👎' }, accessibility_label: 'Bad answer' },
    },
  ]);
  expect(fake.unhandled).toEqual([]);
});

test('the fake takes Slack’s own buttons within their limits', () => {
  const button = (text: string, value: string) => ({ text: { type: 'plain_text', text }, value });
  const block = (good: object, bad = button('👎', 'b')) => [
    {
      type: 'context_actions',
      elements: [
        { type: 'feedback_buttons', action_id: 'a', positive_button: good, negative_button: bad },
      ],
    },
  ];
  expect(blocksProblem(block(button('👍', 'a'.repeat(2_000))))).toBeUndefined();
  expect(blocksProblem(block(button('👍', 'a'.repeat(2_001))))).toBe('invalid_blocks');
  expect(blocksProblem(block(button('👍'.repeat(40), 'a')))).toBe('invalid_blocks');
  expect(blocksProblem(block(button('👍', 'a'), button('', 'b')))).toBe('invalid_blocks');
  expect(blocksProblem([{ type: 'context_actions', elements: [] }])).toBe('invalid_blocks');
});
