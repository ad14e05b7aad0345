import { expect, test } from 'vitest';
import { modelCommand, promptCommand } from '../../../src/bot/commands/askwatch-channel.ts';
import type { Command } from '../../../src/bot/commands/command.ts';
import type { Reply } from '../../../src/bot/shared/invocation.ts';
import type { Person, Place } from '../../../src/bot/shared/place.ts';
import { cardOf, readAnswer, startTestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const OPS: Place = { platform: 'slack', channel: 'C1' };
const DEV: Place = { platform: 'discord', channel: 'D1' };
const admin: Person = { id: 'U9', name: 'Grace', mayManage: async () => true };
const member: Person = { id: 'U1', name: 'Ada', mayManage: async () => false };

async function start(options: Parameters<typeof startTestBot>[0] = {}) {
  const running = await startTestBot(options);
  const say: typeof running.say = (line, where) =>
    running.say(line, { place: OPS, person: admin, ...where });
  /** Asks in a thread and returns the model's request. */
  async function ask(
    question: string,
    where: { place?: Place; thread?: string; person?: Person } = {},
  ) {
    const reply = await say(`/ask ${question}`, where);
    await readAnswer(reply, where.thread ?? 'T1');
    return running.provider.calls.at(-1)?.body;
  }
  const text = async (reply: Promise<Reply>) => textOf(cardOf(await reply));
  return { ...running, say, ask, text };
}

/** The system prompt before the blank line and the words about functions. */
const promptOf = (body: { messages: Array<{ role: string; content: string }> } | undefined) =>
  body?.messages
    .find(({ role }) => role === 'system')
    ?.content.split('\n\nThe functions look up')[0];

test('a channel keeps its own model, also after a restart', async () => {
  const folder = await temporaryFolder();
  const first = await start({ folder });
  const [usual, other] = ['test-model', 'test-vision'];
  expect(await first.text(first.say('/askwatch model'))).toContain(`${usual} answers here`);
  expect(await first.text(first.say(`/askwatch model ${other?.toUpperCase()}`))).toContain(
    `${other} answers here`,
  );
  expect((await first.ask('why?')).model).toBe(other);
  expect((await first.ask('why?', { place: DEV })).model).toBe(usual);
  expect((await first.ask(`model=${usual} why?`)).model).toBe(usual);
  await first.stop();
  const second = await start({ folder });
  expect((await second.ask('why?')).model).toBe(other);
  expect(await second.text(second.say('/askwatch model default'))).toContain(
    `${usual} answers here`,
  );
  expect((await second.ask('why?')).model).toBe(usual);
});

test('an unknown model is refused and changes nothing', async () => {
  const { say, text, ask } = await start();
  const usual = 'test-model';
  expect(await text(say('/askwatch model nonsense'))).toContain('No text model called “nonsense”');
  expect((await ask('why?')).model).toBe(usual);
});

test('a channel has its own prompt, word for word', async () => {
  const { say, text, ask } = await start({ settings: { askSystemPrompt: 'Be kind.' } });
  expect(await text(say('/askwatch prompt'))).toContain('Be kind.');
  const prompt = 'Answer in Spanish; format=short, "quoted" and <b>.';
  expect(await text(say(`/askwatch prompt ${prompt}`))).toContain(prompt);
  expect(promptOf(await ask('why?'))).toBe(prompt);
  expect(promptOf(await ask('why?', { place: DEV }))).toBe('Be kind.');
  expect(await text(say('/askwatch prompt'))).toContain(prompt);
  await say('/askwatch prompt default');
  expect(promptOf(await ask('why?'))).toBe('Be kind.');
});

test('the word show shows the setting and is neither a model nor a prompt', async () => {
  const { say, text, ask } = await start({ settings: { askSystemPrompt: 'Be kind.' } });
  for (const line of ['/askwatch model', '/askwatch prompt']) {
    const shown = await text(say(line));
    expect(shown).toContain(line.endsWith('model') ? 'test-model answers here' : 'Be kind.');
    expect(await text(say(`${line} Show`))).toBe(shown);
  }
  expect(promptOf(await ask('why?'))).toBe('Be kind.');
});

test('a prompt equal to the default is not stored as the channel’s own', async () => {
  const { send, say, text } = await start({ settings: { askSystemPrompt: 'Be kind.' } });
  const request = { command: 'askwatch prompt', values: { prompt: 'Be kind.' } };
  await send(request, { place: OPS, person: admin });
  expect(await text(say('/askwatch prompt'))).toContain('uses the default prompt');
});

test('the forms begin with the current settings, for people with the right', async () => {
  const { bot, say } = await start({ settings: { askSystemPrompt: 'Be kind.' } });
  const open = async (command: Command, person = admin) =>
    await bot.openForm(command, { place: OPS, person });
  expect(await open(modelCommand)).toMatchObject({
    begin: {
      values: { model: 'default' },
      choices: { model: ['default', 'test-model', 'test-vision'] },
      hints: { model: expect.stringContaining('now test-model') },
    },
  });
  expect(await open(promptCommand)).toMatchObject({ begin: { values: { prompt: 'Be kind.' } } });
  await say('/askwatch model test-vision');
  await say('/askwatch prompt Be brief.');
  expect(await open(modelCommand)).toMatchObject({ begin: { values: { model: 'test-vision' } } });
  expect(await open(promptCommand)).toMatchObject({ begin: { values: { prompt: 'Be brief.' } } });
  for (const command of [modelCommand, promptCommand]) {
    const opened = await open(command, member);
    const card = 'card' in opened ? opened.card : undefined;
    expect(card && textOf(card)).toMatch(/Only people who can manage this channel can/);
  }
});

test('the form of the model says why it has no models without the catalog', async () => {
  const { bot, provider } = await start();
  await provider.close();
  const opened = await bot.openForm(modelCommand, { place: OPS, person: admin });
  const card = 'card' in opened ? opened.card : undefined;
  expect(card && textOf(card)).toContain('The model gateway cannot be reached.');
});

test('a person who does not manage the channel sees model and prompt and changes neither', async () => {
  const { say, text, ask } = await start();
  const [usual, other] = ['test-model', 'test-vision'];
  const person = member;
  expect(await text(say('/askwatch model', { person }))).toContain(`${usual} answers here`);
  for (const line of [`/askwatch model ${other}`, '/askwatch prompt Be rude.']) {
    expect(await text(say(line, { person }))).toMatch(
      /Only people who can manage this channel can/,
    );
  }
  const body = await ask('why?');
  expect(body.model).toBe(usual);
  expect(promptOf(body)).not.toContain('rude');
});

test('a forgotten thread starts a new conversation, and others remember', async () => {
  const { say, text, ask } = await start();
  const said = (body: { messages: Array<{ role: string; content: string }> }) =>
    body.messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  for (const thread of ['T1', 'T2']) await ask('first', { thread });
  expect(said(await ask('second', { thread: 'T1' }))).toEqual(['first', 'second']);
  expect(await text(say('/askwatch forget', { thread: 'T1', person: member }))).toContain(
    'This thread is forgotten',
  );
  expect(said(await ask('third', { thread: 'T1' }))).toEqual(['third']);
  expect(said(await ask('second', { thread: 'T2' }))).toEqual(['first', 'second']);
  expect(await text(say('/askwatch forget', { thread: 'T9' }))).toContain('nothing to forget');
  expect(await text(say('/askwatch forget'))).toContain('Type this inside the thread');
});

test('a thread is not forgotten while an answer is generated in it', async () => {
  const { bot, say, text, provider } = await start();
  const release = provider.holdChunks(0);
  const answered = readAnswer(await say('/ask what is it?', { thread: 'T1' }), 'T1');
  await eventually(() => provider.calls.length === 1);
  const forget = () => text(say('/askwatch forget', { thread: 'T1' }));
  expect(await forget()).toContain('Wait for it or press Stop');
  release();
  await answered;
  expect(await forget()).toContain('This thread is forgotten');
  expect(await bot.isConversation(OPS, 'T1')).toBe(true);
});

test('usage shows by person and by model, of this channel alone', async () => {
  const { say, text, ask } = await start();
  const [usual, other] = ['test-model', 'test-vision'];
  expect(await text(say('/askwatch usage'))).toContain('No questions here in the last 30 days');
  await ask('one', { person: member });
  await ask('two', { person: { ...member, name: 'Ada L.' } });
  await ask(`model=${other} three`, { person: admin });
  await ask('four', { place: DEV });
  const card = cardOf(await say('/askwatch usage days=1'));
  expect(card.title).toMatch(/^3 answers with [\d,]+ tokens in the last day$/);
  const [people, models] = card.parts.map((part) => (part.kind === 'table' ? part.rows : []));
  expect(people?.map(([name, answers]) => [name, answers])).toEqual([
    ['Ada L.', '2'],
    ['Grace', '1'],
  ]);
  expect(models?.map(([name, answers]) => [name, answers])).toEqual([
    [usual, '2'],
    [other, '1'],
  ]);
});
