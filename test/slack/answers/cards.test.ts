import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { renderAnswer } from '../../../src/slack/render/render-answer.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type Fault, type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { startTestBot, type TestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { interruptible, NOTE } from '../../helpers/slack/interruptible.ts';
import { makeSlack, RESTING } from '../../helpers/slack/running-slack.ts';
import { DIRECT, failed, ours, shows, WHOLE } from '../../helpers/slack/streaming-runs.ts';
import { withCards } from '../../helpers/slack/with-cards.ts';

const TARGET = 'https://example.com/shop';
const OPEN = ['Watch', 'Cancel'];

const PLACES = [
  ['a channel', CHANNEL],
  ['a direct conversation', DIRECT],
] as const;

const card = (title: string, proposal: string): Card => ({
  tone: 'info',
  title,
  parts: [],
  actions: [{ label: `Do ${title}`, command: 'proposal confirm', values: { proposal } }],
});
const [ONE, TWO] = [card('one', 'p1'), card('two', 'p2')];

/** The bot in a workspace; without `cards` its model proposes a monitor. */
async function startProcess(fake: SlackFake, { cards }: { cards?: Card[] } = {}) {
  const { slack, lines } = await makeSlack({ fake, drainMs: 100 });
  const test = await startTestBot({ settings: RESTING });
  let shownAtEnd: string[] | undefined;
  if (cards) test.provider.answerWith('It waits for you.');
  else proposeMonitor(test);
  const onEnded = () => {
    shownAtEnd = fake.channel(CHANNEL).messages.map(shownText);
  };
  const life = interruptible(cards ? withCards(test.bot, { cards, onEnded }) : test.bot);
  await slack.start(life.bot);
  const { interrupted } = life;
  return { ...test, interrupted, slack, lines, shownAtEnd: () => shownAtEnd };
}

function proposeMonitor({ provider }: TestBot) {
  provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool'
      ? 'It waits for you.'
      : { calls: [{ name: 'create_monitor', arguments: JSON.stringify({ target: TARGET }) }] },
  );
}

async function begin(options: { cards?: Card[] } = {}) {
  const fake = await startSlack();
  fake.addChannel({ id: DIRECT });
  return { fake, ...(await startProcess(fake, options)) };
}

/** Asks; gives the thread of the answer. */
const ask = (fake: SlackFake, channel: string) =>
  fake[channel === DIRECT ? 'say' : 'mention']('watch my shop', { channel });

/** Asks, and waits until the answer and its card are shown. */
async function askForCard({ fake }: { fake: SlackFake }, channel: string = CHANNEL) {
  const thread = ask(fake, channel);
  const [answer, proposed, ...more] = await shows(fake, channel, thread, OPEN);
  if (!answer || !proposed) throw new Error('There is no card below the answer.');
  expect(more).toEqual([]);
  return { thread, answer, proposed };
}

const textsIn = (fake: SlackFake, channel: string, thread: string) =>
  ours(fake, channel, thread).map((message) => shownText(message));

const monitors = ({ service }: Pick<TestBot, 'service'>) =>
  service.requests
    .filter(({ method, path }) => method === 'POST' && path.endsWith('/monitors'))
    .map(({ body }) => (body as { target: string }).target);

describe.each(PLACES)('in %s', (_where, channel) => {
  test.each<Fault>([
    { kind: 'drop', stored: true },
    { kind: 'status', status: 503, stored: true },
    { kind: 'drop' },
  ])('a card whose post ends with %j stands there once', async (fault) => {
    const { fake, provider } = await begin({ cards: [ONE, TWO] });
    const goOn = provider.holdAnswers();
    const thread = ask(fake, channel);
    await eventually(() => provider.calls.length === 1);
    if (channel === CHANNEL) await eventually(() => ours(fake, channel, thread).length === 1);
    fake.fail('chat.postMessage', fault);
    goOn();
    await shows(fake, channel, thread, ['Do two']);
    expect(failed(fake).map(({ method }) => method)).toEqual(['chat.postMessage']);
    expect(ours(fake, channel, thread).map(labelsOf)).toEqual([WHOLE, ['Do one'], ['Do two']]);
  });
});
test('an answer is ended once its cards are posted, in their order', async () => {
  const { fake, shownAtEnd } = await begin({ cards: [ONE, TWO] });
  ask(fake, CHANNEL);
  expect((await eventually(shownAtEnd)).slice(1)).toEqual([
    expect.stringContaining('It waits for you.'),
    expect.stringContaining('one'),
    expect.stringContaining('two'),
  ]);
});

test('a card that Slack never takes is left out, and the answer is ended', async () => {
  const { fake, provider, lines, shownAtEnd } = await begin({ cards: [ONE, TWO] });
  const goOn = provider.holdAnswers();
  const thread = ask(fake, CHANNEL);
  await eventually(() => ours(fake, CHANNEL, thread).length === 1);
  fake.fail('chat.postMessage', { kind: 'error', error: 'msg_blocks_too_long' });
  goOn();
  await eventually(shownAtEnd);
  expect(ours(fake, CHANNEL, thread).map(labelsOf)).toEqual([WHOLE, ['Do two']]);
  expect(fake.whispers(CHANNEL)).toEqual([]);
  const told = lines.filter(({ msg }) => String(msg).includes('a card below an answer'));
  expect(told).toEqual([expect.objectContaining({ reason: 'msg_blocks_too_long' })]);
});

describe('in private', () => {
  /** Asks where only the asker sees it; gives the card. */
  async function askInPrivate({ fake }: { fake: SlackFake }, thread?: string) {
    const line = 'private=true watch my shop';
    if (thread === undefined) await fake.slash('/ask', line);
    else fake.mention(`/ask ${line}`, { threadTs: thread });
    return await eventually(() =>
      fake.channel(CHANNEL).ephemerals.find((shown) => labelsOf(shown).join() === OPEN.join()),
    );
  }

  test('a card that cannot be replaced is followed by what became of it', async () => {
    const running = await begin();
    const { fake } = running;
    const proposed = await askInPrivate(running);
    const press = fake.press('Cancel');
    // The address of the press takes nothing any more.
    fake.clock.advance(31 * 60_000);
    await press;
    await eventually(() => fake.whispers(CHANNEL).at(-1)?.includes('Cancelled by ada'));
    expect(labelsOf(proposed)).toEqual(OPEN);
    expect(fake.messages(CHANNEL)).toEqual([]);
  });
});

test.each([
  ['was deleted', (fake: SlackFake, ts: string) => fake.remove(CHANNEL, ts)],
  [
    'Slack does not let the bot change',
    (fake: SlackFake) => fake.fail('chat.update', { kind: 'error', error: 'cant_update_message' }),
  ],
  [
    'Slack does not let it change for a while',
    (fake: SlackFake) => fake.fail('chat.update', { kind: 'limited', retryAfterSeconds: 5 }),
  ],
])('what becomes of a card that %s is posted in the thread', async (_what, change) => {
  const running = await begin();
  const { fake } = running;
  const { thread, proposed } = await askForCard(running);
  const press = fake.press('Watch');
  change(fake, proposed.ts);
  await press;
  await eventually(() => textsIn(fake, CHANNEL, thread).at(-1)?.includes('Confirmed by ada'));
  expect(ours(fake, CHANNEL, thread).at(-1)?.ts).not.toBe(proposed.ts);
  expect(monitors(running)).toEqual([TARGET]);
  expect(fake.whispers(CHANNEL)).toEqual([]);
});

test('a card is not taken for the end of an answer that a restart left growing', async () => {
  const { fake, slack, interrupted } = await begin({ cards: [ONE] });
  const thread = ask(fake, CHANNEL);
  const [growing] = await shows(fake, CHANNEL, thread, ['Do one']);
  if (!growing) throw new Error('Nothing is shown.');
  growing.blocks = renderAnswer({ messages: ['It waits'] })[0]?.blocks;
  await slack.endAnswer?.(interrupted({ actionsIn: async () => [] }));
  expect(textsIn(fake, CHANNEL, thread)).toEqual([`It waits\n⚠️ ${NOTE}`, '🔵 one\nDo one']);
});
