import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { AnswerStep } from '../../../src/bot/shared/invocation.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { interruptible, NOTE } from '../../helpers/slack/interruptible.ts';
import { lookingUp } from '../../helpers/slack/looking-up.ts';
import { makeSlack, RESTING } from '../../helpers/slack/running-slack.ts';
import { DIRECT, failed, ours, shows, WHOLE } from '../../helpers/slack/streaming-runs.ts';

const HOSTILE = '<!channel> <https://evil|x> *b*';
const PAGE = 'https://watch.example/monitors/1';

const running = (step: Pick<AnswerStep, 'id' | 'what'>): AnswerStep => ({
  ...step,
  state: 'running',
});

const SHOP: AnswerStep = {
  id: '1',
  what: `Shop ${HOSTILE}`,
  state: 'done',
  found: 'UP, checked 15:19 UTC',
  url: PAGE,
};
const USAGE: AnswerStep = {
  id: '2',
  what: 'usage here',
  state: 'failed',
  found: 'the service did not answer',
};

/** Not similar to an address, so it may be a link's text. */
const DEPOT: AnswerStep = { id: '4', what: 'Depot <!channel> *b*', state: 'done', url: PAGE };

/** The bot in a workspace, whose answers look up what a test says. */
async function startProcess(fake: SlackFake) {
  const { slack, lines } = await makeSlack({ fake, drainMs: 100 });
  const { bot, provider } = await startTestBot({ settings: RESTING });
  provider.answerWith('It is up.');
  const { bot: looking, look, goOn } = lookingUp(bot);
  const life = interruptible(looking);
  await slack.start(life.bot);
  return { ...life, slack, lines, look, goOn };
}

async function begin() {
  const fake = await startSlack();
  fake.addChannel({ id: DIRECT });
  return { fake, ...(await startProcess(fake)) };
}

const textsIn = (fake: SlackFake, channel: string, thread: string) =>
  ours(fake, channel, thread).map((message) => shownText(message));

/** Elements of the look-up paragraph. */
function elementsOf({ blocks }: { blocks?: unknown }): Record<string, unknown>[] {
  const list = blocks as { type: string; elements: { elements: Record<string, unknown>[] }[] }[];
  return list.find(({ type }) => type === 'rich_text')?.elements[0]?.elements ?? [];
}

test('an answer in a channel shows its look-up until there is text', async () => {
  const { fake, look, goOn } = await begin();
  const thread = fake.mention('is it up?');
  await eventually(() => textsIn(fake, CHANNEL, thread)[0]?.startsWith('Thinking…'));
  look(running(SHOP));
  await eventually(() =>
    textsIn(fake, CHANNEL, thread)[0]?.startsWith(`Looking up Shop ${HOSTILE}…\nStop`),
  );
  const [growing] = ours(fake, CHANNEL, thread);
  expect(growing?.text).toBe('Writing…');
  expect(JSON.stringify(growing?.blocks)).not.toContain('mrkdwn');
  look(SHOP);
  goOn();
  const [shown, ...more] = await shows(fake, CHANNEL, thread, WHOLE);
  expect(more).toEqual([]);
  expect(shownText(shown ?? { text: '' })).not.toMatch(/Looking up|Thinking…|Writing…/);
  expect(fake.unhandled).toEqual([]);
});

test.each([
  ['a channel', CHANNEL],
  ['a direct conversation, where it is streamed', DIRECT],
])(
  'an answer in %s ends with what was looked at, and no name means anything',
  async (_where, channel) => {
    const { fake, look, goOn } = await begin();
    look(running(SHOP));
    look(SHOP);
    look(USAGE);
    look(DEPOT);
    look(running({ id: '3', what: 'what was never seen' }));
    goOn();
    const thread = fake[channel === DIRECT ? 'say' : 'mention']('is it up?', { channel });
    const [shown] = await shows(fake, channel, thread, WHOLE);
    expect(shownText(shown ?? { text: '' })).toMatch(
      /^It is up\.\nLooked up Shop .* \*b\*\ntest-model · /,
    );
    expect(elementsOf(shown ?? {})).toEqual([
      { type: 'text', text: 'Looked up ' },
      { type: 'text', text: `Shop ${HOSTILE}` },
      { type: 'text', text: ' (UP, checked 15:19 UTC)' },
      { type: 'text', text: ' · ' },
      { type: 'text', text: 'usage here' },
      { type: 'text', text: ' (the service did not answer)' },
      { type: 'text', text: ' · ' },
      { type: 'link', url: PAGE, text: 'Depot <!channel> *b*' },
    ]);
    expect(shown?.called ?? []).toEqual([]);
    expect(shown?.text).toBe('It is up.');
    expect(JSON.stringify(shown?.blocks)).not.toContain('mrkdwn');
    const methods = new Set(fake.calls.map(({ method }) => method));
    expect(methods.has('chat.stopStream')).toBe(channel === DIRECT);
    expect(failed(fake)).toEqual([]);
    expect(fake.unhandled).toEqual([]);
  },
);

test.each([
  ['Shop', 'javascript:alert(1)'],
  ['Shop', 'slack://open'],
  ['Shop', 'nowhere'],
  ['https://bank.example', PAGE],
])('a step called %s with the address %s is no link', async (what, url) => {
  const { fake, look, goOn } = await begin();
  look({ id: '1', what, state: 'done', url });
  goOn();
  const thread = fake.mention('is it up?');
  const [shown] = await shows(fake, CHANNEL, thread, WHOLE);
  expect(elementsOf(shown ?? {})).toEqual([
    { type: 'text', text: 'Looked up ' },
    { type: 'text', text: what },
  ]);
});

test('a long list of steps says how many are missing', async () => {
  const { fake, look, goOn } = await begin();
  const what = `${'&'.repeat(150)} `;
  for (let n = 0; n < 60; n += 1) {
    look({
      id: String(n),
      what: `${what}${n}`,
      state: 'done',
      found: 'x'.repeat(5_000),
      url: PAGE,
    });
  }
  goOn();
  const thread = fake.mention('is it up?');
  const [shown] = await shows(fake, CHANNEL, thread, WHOLE);
  const line = elementsOf(shown ?? {})
    .map(({ text }) => text)
    .join('');
  expect(line.length).toBeLessThan(3_000);
  const whole = line.match(/ \d+ \(x+…\)/g)?.length ?? 0;
  expect(whole).toBeGreaterThan(2);
  expect(line).toMatch(new RegExp(`…\\) · and ${60 - whole} more$`));
  expect(failed(fake)).toEqual([]);
});

test('the status of a direct message shows the look-up until there is text', async () => {
  const { fake, look, goOn } = await begin();
  const thread = fake.say('is it up?', { channel: DIRECT });
  look(running(SHOP));
  const words = () => fake.words.get(`${DIRECT} ${thread}`);
  expect(await eventually(words)).toBe('Looking up Shop !channel https://evil|x b …');
  expect(ours(fake, DIRECT, thread)).toEqual([]);
  look(running({ id: '2', what: 'incidents of the last 7 days and all that led to them' }));
  await eventually(() => words() === 'Looking up incidents of the last 7 days and all t…');
  goOn();
  await shows(fake, DIRECT, thread, WHOLE);
  await eventually(() => fake.sessions.get(`${DIRECT} ${thread}`)?.status === 'active');
  expect(words()).toBeUndefined();
  expect(failed(fake)).toEqual([]);
  expect(fake.unhandled).toEqual([]);
});

test('a Slack that takes no words for a status is not asked again, and streams all the same', async () => {
  const { fake, look, goOn } = await begin();
  fake.fail('assistant.threads.setStatus', { kind: 'error', error: 'unknown_method' });
  const thread = fake.say('is it up?', { channel: DIRECT });
  look(running(SHOP));
  await eventually(() => failed(fake).length === 1);
  look(running(USAGE));
  // Longer than it takes until a step is shown.
  await pause(700);
  goOn();
  await shows(fake, DIRECT, thread, WHOLE);
  const again = fake.say('and now?', { channel: DIRECT });
  await shows(fake, DIRECT, again, WHOLE);
  const asked = fake.calls.filter(({ method }) => method === 'assistant.threads.setStatus');
  expect(asked).toHaveLength(1);
  expect(fake.calls.filter(({ method }) => method === 'chat.startStream')).toHaveLength(2);
});
test.each([
  ['a channel', CHANNEL],
  ['a channel, with a name of several very long lines', CHANNEL, `\n${'a\n'.repeat(2_000)}`],
])(
  'what a restart left looking at something in %s gets its end',
  async (_where, channel, name = HOSTILE) => {
    const { fake, slack, look, interrupted } = await begin();
    const thread = fake.mention('is it up?', { channel });
    look(running({ id: '1', what: name }));
    await eventually(() => textsIn(fake, channel, thread)[0]?.startsWith('Looking up '));
    // Without its button, only the line says that more comes.
    const [left] = ours(fake, channel, thread);
    if (!left) throw new Error('Nothing is shown.');
    left.blocks = (left.blocks as unknown[]).slice(0, 1);
    await slack.endAnswer?.(interrupted({ actionsIn: async () => [] }));
    expect(textsIn(fake, channel, thread)).toEqual([`⚠️ ${NOTE}`]);
  },
);
