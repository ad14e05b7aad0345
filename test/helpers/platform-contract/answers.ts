import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import {
  ANSWER,
  ask,
  find,
  inThread,
  type OpenWorld,
  prompted,
  seen,
  told,
  WHOLE,
  wholeAnswer,
} from './world.ts';

/** Questions and the buttons of their answers, which every platform shows alike. */
export function testAnswers(open: OpenWorld): void {
  test('/ask shows the question, and the answer with its model in the thread below', async () => {
    const world = await open();
    const { answer, thread } = await ask(world, 'Why is *the* sky blue?');
    const question = seen(world, thread);
    expect(question.text).toMatch(new RegExp(`${world.people[0]}.* ask(s|ed)[\\s\\S]*sky blue\\?`));
    expect(question.thread).toBeUndefined();
    expect(answer.text).toMatch(/^Hello from the fake provider\.[\s\S]*test-model · \d/);
    expect(inThread(world, thread)).toEqual([answer]);
  });

  test('a thread remembers its questions and answers, also after a restart', async () => {
    const world = await open();
    const { thread } = await ask(world, 'First');
    await world.restart();
    world.provider.answerWith('Second answer.');
    world.say('Second', { thread });
    await wholeAnswer(world, 'Second answer.');
    expect(prompted(world)).toEqual(['First', ANSWER, 'Second']);
  });

  test('a repeated delivery of a command is answered once', async () => {
    const world = await open();
    const { thread } = await ask(world, 'Once?');
    world.repeat();
    world.repeat();
    world.provider.answerWith('Other.');
    await ask(world, 'Another', 'Other.');
    expect(world.provider.calls).toHaveLength(2);
    expect(world.messages().filter(({ text }) => text.includes('Once?'))).toHaveLength(1);
    expect(inThread(world, thread)).toHaveLength(1);
  });

  test('an answer that breaks off keeps its text and ends with a note', async () => {
    const world = await open();
    world.provider.answerWith(['One ', 'two ', 'three.']);
    world.provider.failWith({ kind: 'cut', afterChunks: 2 });
    world.command('ask', { question: 'Count' });
    const answer = await wholeAnswer(world, 'One two', ['Try again']);
    expect(answer.text).toMatch(/^One two\s*\n.*\S.*\n[\s\S]*test-model/);
  });

  test('a long answer continues in further messages, with buttons under the last one', async () => {
    const world = await open();
    const words = Array.from({ length: 1_500 }, (_, at) => `word${at}`);
    world.provider.answerWith(words.join(' '));
    const { thread } = await ask(world, 'Tell all', 'word1499');
    const parts = inThread(world, thread);
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.flatMap(({ text }) => text.match(/word\d+/g))).toEqual(words);
    expect(parts.slice(0, -1).flatMap(({ buttons }) => buttons)).toEqual([]);
  });

  test('messages between people get no answer', async () => {
    const world = await open();
    const lunch = world.say('Lunch?');
    world.say('Pizza', { thread: lunch, by: 1 });
    await ask(world);
    expect(world.provider.calls).toHaveLength(1);
    expect(inThread(world, lunch)).toEqual([]);
  });

  test('a mention is answered in a thread under it', async () => {
    const world = await open();
    const thread = world.say('what is up?', { toBot: true });
    const answer = await wholeAnswer(world, ANSWER);
    expect(answer.thread).toBe(thread);
    expect(prompted(world)).toEqual(['what is up?']);
  });

  test('only the person who asked sees a private answer', async () => {
    const world = await open();
    world.provider.answerWith('secret '.repeat(600));
    world.command('ask', { question: 'Psst', private: true });
    const answer = await wholeAnswer(world, 'secret', ['Share']);
    expect(answer.isPrivate).toBe(true);
    expect(world.messages().filter(({ isPrivate }) => !isPrivate)).toEqual([]);
  });

  test('anyone can stop an answer, which says who did and can be tried again', async () => {
    const world = await open();
    world.provider.answerWith(['one ', 'two ']);
    world.provider.failWith({ kind: 'stall', afterChunks: 2 });
    world.command('ask', { question: 'Count' });
    const growing = await find(world, ({ text }) => text.includes('one two'));
    expect(growing.buttons).toEqual(['Stop']);
    world.press(growing.id, 'Stop', 1);
    const stopped = await wholeAnswer(world, 'one two', ['Try again']);
    expect(stopped.text.toLowerCase()).toContain(`stopped by ${world.people[1].toLowerCase()}`);
    world.provider.recover();
    world.provider.answerWith('one two three');
    world.press(stopped.id, 'Try again', 1);
    expect((await wholeAnswer(world, 'one two three')).buttons).toEqual(WHOLE);
    await eventually(() => seen(world, stopped.id).text.includes('Answered again below.'));
  });

  test('Regenerate answers again below, in place of the answer above', async () => {
    const world = await open();
    world.provider.answerWith('Once.');
    const { answer, thread } = await ask(world, 'Why?', 'Once.');
    world.provider.answerWith('Twice.');
    world.press(answer.id, 'Regenerate', 1);
    await wholeAnswer(world, 'Twice.');
    await eventually(() => seen(world, answer.id).buttons.length === 0);
    expect(seen(world, answer.id).text).toMatch(/Once\.[\s\S]*Answered again below\./);
    expect(inThread(world, thread)[1]?.text).toContain(world.people[1]);
    world.provider.answerWith('Thrice.');
    world.say('And now?', { thread, toBot: true });
    await wholeAnswer(world, 'Thrice.');
    expect(prompted(world)).toEqual(['Why?', 'Twice.', 'And now?']);
  });

  test('Continue adds to an answer that reached its model’s limit', async () => {
    const world = await open();
    world.provider.answerWith('Half', { finishReason: 'length' });
    const { answer } = await ask(world, 'Tell all', 'Half');
    expect(answer.buttons).toEqual(['Continue', ...WHOLE]);
    world.provider.answerWith(' and half.');
    world.press(answer.id, 'Continue');
    await wholeAnswer(world, 'and half.');
    await eventually(() => seen(world, answer.id).buttons.join() === '👍,👎');
    expect(prompted(world).slice(0, 2)).toEqual(['Tell all', 'Half']);
  });

  test('Share shows a private answer to everyone, in a thread that remembers it', async () => {
    const world = await open();
    world.provider.answerWith('Quietly.');
    world.command('ask', { question: 'Psst?', private: true });
    const answer = await wholeAnswer(world, 'Quietly.', ['Share', '👍', '👎']);
    world.press(answer.id, 'Share');
    const shared = await wholeAnswer(world, 'Quietly.');
    expect(seen(world, shared.thread ?? '').text).toContain('Psst?');
    world.say('And now?', { thread: shared.thread, toBot: true });
    await eventually(() => world.provider.calls.length === 2);
    expect(prompted(world)).toEqual(['Psst?', 'Quietly.', 'And now?']);
  });

  test('a rating is thanked for in private, and the same one again takes it back', async () => {
    const world = await open();
    const { answer } = await ask(world);
    world.press(answer.id, '👍');
    await told(world, 'Thank you, rated 👍');
    // Two presses within two seconds count as a double click.
    const overMs = performance.now() + 2_100;
    await eventually(() => performance.now() > overMs);
    world.press(answer.id, '👍');
    await told(world, 'Rating removed');
    expect(seen(world, answer.id).buttons).toEqual(WHOLE);
  });

  test('👎 counts and opens a form for a comment', async () => {
    const world = await open();
    const { answer } = await ask(world);
    world.press(answer.id, '👎');
    await eventually(world.form);
    expect(world.form()).toMatchObject({ title: 'What was wrong?', inputs: { what: '' } });
    await told(world, 'Thank you, rated 👎');
    world.submit({ reason: 'too long', what: '*was* yesterday' });
    await told(world, 'Your comment is saved');
  });

  test('buttons of an answer work after a restart', async () => {
    const world = await open();
    const { answer, thread } = await ask(world);
    await world.restart();
    world.provider.answerWith('Again.');
    world.press(answer.id, 'Regenerate');
    expect((await wholeAnswer(world, 'Again.')).thread).toBe(thread);
  });
}
