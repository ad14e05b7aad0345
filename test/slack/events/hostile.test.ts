import { expect, test } from 'vitest';
import { calledBy, shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import { HOSTILE_TEXTS, repeatAndPropose } from '../../helpers/bot/hostile-texts.ts';
import { eventually } from '../../helpers/eventually.ts';
import { runSlack, WATCHING } from '../../helpers/slack/running-slack.ts';

/** Texts that would ping, link or mask, in every form that Slack reads. */
const HOSTILE = [
  '<!channel> <!here> <!everyone> @channel @here @everyone',
  '<@U00ADA> <@U00ADA|ada> <!subteam^S0AAAAAAA> <!subteam^S0AAAAAAA|@oncall> <#C00GENERAL|general>',
  '<https://evil.example|https://bank.example> [bank](https://evil.example) <mailto:a@evil.example|us>',
  '[https://bank.example/login](https://evil.example/x) [bank.example][1] ![www.bank.example](<https://evil.example>)',
  '&lt;!channel&gt; &#60;!here> <\u200b!here> <\\!channel> \u202e',
  '<!date^0^{date}^https://evil.example|today>',
  '*bold* _it_ ~no~ `code` ```fence``` > quote :tada:',
  '"},{"type":"actions","elements":[]}]',
].join(' ');

type Json = Record<string, unknown>;

/** Every object within blocks. */
function objectsIn(value: unknown): Json[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  if (typeof value !== 'object' || value === null) return [];
  return [value as Json, ...Object.values(value).flatMap(objectsIn)];
}

/** Texts that Slack reads for mentions and links: the fallback, `mrkdwn` and Markdown. */
function parsedTexts({ text, blocks }: { text: string; blocks?: unknown }): string[] {
  const parsed = objectsIn(blocks).filter(({ type }) => type === 'mrkdwn' || type === 'markdown');
  return [text, ...parsed.map((block) => String(block.text))];
}

/** All that the bot sent, whatever became of it later. */
const sentIn = (fake: SlackFake) => [
  ...fake.calls
    .filter(({ method }) => method.startsWith('chat.'))
    .map(({ args }) => ({ text: String(args.text ?? ''), blocks: args.blocks })),
  ...fake.channel(CHANNEL).ephemerals,
];

/** Expects that nothing the bot sent pings anyone, or holds a link or a block that is not its own. `prose` may link. */
function expectHarmless(fake: SlackFake, { prose = false } = {}) {
  const sent = sentIn(fake);
  expect(sent.length).toBeGreaterThan(0);
  for (const message of sent) {
    expect(calledBy(message)).toEqual([]);
    for (const text of parsedTexts(message)) {
      expect(text).not.toMatch(/<[!@#]/);
      expect(text.replaceAll('\u200b', '')).not.toMatch(/<[!@#]|&lt;!channel&gt;.*<!/);
      if (!prose) expect(text).not.toMatch(/<(?:https?|mailto):/);
    }
    // The fallback is no Markdown: there every link is read as it is written.
    const [, ...markdown] = parsedTexts(message);
    // A link that is cut before its `>` is none.
    for (const text of markdown)
      expect(text).not.toMatch(/bank\.example[^\s[\]]*\]\(|\|[^>]*bank\.example[^>]*>/);
    const objects = objectsIn(message.blocks);
    const types = objects.map(({ type }) => type);
    for (const type of ['link', 'user', 'usergroup', 'broadcast', 'channel', 'image']) {
      expect(types).not.toContain(type);
    }
    // Only the bot's own buttons have addresses.
    for (const { url } of objects) expect(url ?? 'https://shop.example/').not.toContain('evil');
  }
  for (const { args } of fake.calls.filter(({ method }) => method.startsWith('chat.'))) {
    expect(args).toMatchObject({ parse: 'none', link_names: 'false' });
  }
  // On a busy machine posts that were a second apart may come closer together: then Slack wants one again.
  const odd = fake.calls.filter(({ outcome }) => outcome !== 'ok' && outcome !== '429');
  expect(odd).toEqual([]);
}

/** The answer in the channel, once it is whole. */
const answered = (fake: SlackFake) =>
  eventually(() => {
    const answer = fake.channel(CHANNEL).messages[1];
    return answer && !/Thinking…|Writing…/.test(shownText(answer)) && shownText(answer);
  });

test('a question, its asker’s name and its channel’s name', async () => {
  const { fake } = await runSlack();
  await fake.slash('/ask', HOSTILE, { userName: HOSTILE, channelName: HOSTILE });
  await answered(fake);
  const [question] = fake.messages(CHANNEL);
  expect(question && shownText(question)).toContain('*bold* _it_ ~no~');
  expectHarmless(fake);
});

test('a model’s text, in pieces of every size', async () => {
  const { fake, bot } = await runSlack();
  const pieces = Array.from({ length: HOSTILE.length }, (_, at) => HOSTILE.slice(at, at + 1));
  bot.provider.answerWith([HOSTILE, '\n\n', ...pieces], { chunkMs: 2 });
  await fake.slash('/ask', 'be nasty');
  expect(await answered(fake)).toContain('*bold* _it_ ~no~');
  expectHarmless(fake, { prose: true });
});

test('hostile texts in names, in results of tools, in an answer that repeats them, and in cards', async () => {
  const models = [{ id: 'test-model', context_length: 100_000 }];
  const { fake, bot } = await runSlack({ bot: { models } });
  for (const name of HOSTILE_TEXTS) bot.service.add({ name });
  bot.provider.answerWith(repeatAndPropose(HOSTILE_TEXTS));
  await fake.slash('/ask', 'how is everything?');
  const cards = () =>
    fake.channel(CHANNEL).messages.filter((one) => shownText(one).includes('asked can confirm'));
  await eventually(() => cards().length === 3);
  expectHarmless(fake, { prose: true });
});

test('a private answer', async () => {
  const { fake, bot } = await runSlack();
  bot.provider.answerWith(HOSTILE);
  await fake.slash('/ask', 'private=true be nasty');
  await eventually(() => fake.whispers(CHANNEL).length === 2);
  expectHarmless(fake, { prose: true });
});

test('what the model gateway says of an error', async () => {
  const { fake, bot } = await runSlack();
  const body = { error: { message: HOSTILE, type: HOSTILE, param: null, code: HOSTILE } };
  bot.provider.failWith({ kind: 'status', status: 400, body });
  await fake.slash('/ask', 'anything');
  expect(await answered(fake)).toContain('The model gateway rejected this');
  expectHarmless(fake);
});

test('names of monitors and what the service says of them, in lists, alerts and errors', async () => {
  const { fake, bot } = await runSlack({
    bot: { settings: { ...WATCHING, alertPlaces: [{ platform: 'slack', channel: CHANNEL }] } },
  });
  const name = HOSTILE.slice(0, 250);
  const shop = bot.service.add({ name, target: 'https://shop.example/?<!here>' });
  bot.service.add({ name: `2 ${name}`, status: HOSTILE });
  const before = bot.service.requests.length;
  await eventually(() => bot.service.requests.length > before + 2);
  bot.service.setStatus(shop.id, 'DOWN');
  await eventually(() => fake.messages(CHANNEL).length === 1);
  for (const text of [
    'list',
    `show ${HOSTILE}`,
    `alerts on filter="${HOSTILE}"`,
    `pause ${name}`,
  ]) {
    const seen = sentIn(fake).length + fake.inChannel(CHANNEL).length;
    await fake.slash('/monitor', text);
    await eventually(() => sentIn(fake).length + fake.inChannel(CHANNEL).length > seen);
  }
  expectHarmless(fake);
});

test('a command of another name and a word that is none of ours', async () => {
  const { fake } = await runSlack();
  const { payload } = await fake.slash(`/${HOSTILE}`, HOSTILE);
  expect(JSON.stringify(payload)).not.toMatch(/<[!@#h]/);
  await fake.slash('/monitor', HOSTILE);
  await fake.slash('/askwatch', HOSTILE);
  await eventually(() => fake.whispers(CHANNEL).length === 2);
  expectHarmless(fake);
});

test('an error code of Slack’s that is none', async () => {
  const { fake, lines } = await runSlack();
  fake.fail('chat.postMessage', { kind: 'error', error: HOSTILE });
  await fake.slash('/ask', 'anything');
  const shown = await eventually(() => fake.whispers(CHANNEL)[0]);
  expect(shown).toBe(
    'Askwatch couldn’t post its reply. Slack refused the message (an answer without a reason).',
  );
  expect(lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});
