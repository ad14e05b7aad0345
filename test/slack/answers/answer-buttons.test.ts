import { expect, test } from 'vitest';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { blocksProblem } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import type { Message } from '../../fakes/slack/workspace.ts';
import { eventually } from '../../helpers/eventually.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

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

test('the two thumbs are Slack’s own, beside the other buttons', async () => {
  const { fake } = await runSlack();
  const answer = await shows(fake, await ask(fake, 'why?'), WHOLE);
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
