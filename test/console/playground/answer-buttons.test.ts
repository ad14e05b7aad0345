import { describe, expect, test } from 'vitest';
import { Message, type RootMessage } from '../../../src/console/shared/api-types.ts';
import { asKilled } from '../../helpers/after-kill.ts';
import { textOf } from '../../helpers/bot.ts';
import {
  listedAt,
  openTab,
  postPress,
  repliesOf,
  saying,
  startTestConsole,
  type Tab,
  type TestConsole,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const answerOf = (message: Message | undefined) => {
  if (message?.body.kind !== 'answer') throw new Error('There is no answer.');
  return message.body;
};
const labelsOf = (message: Message | undefined) =>
  answerOf(message).actions?.map(({ label }) => label) ?? [];

/** What the model was told last, but for the system prompt. */
function told({ provider }: TestConsole): string[] {
  const given: Array<{ role: string; content: string }> =
    provider.calls.at(-1)?.body.messages ?? [];
  return given.filter(({ role }) => role !== 'system').map(({ content }) => content);
}

/** Asks in the channel; resolves to the thread once the answer has begun in it. */
async function ask(tab: Tab, line: string): Promise<string> {
  const said = await tab.say(`/ask ${line}`);
  if (said.shown !== 'thread') throw new Error('There is no thread.');
  return said.message;
}

/** The last reply of a thread, when it is an answer that has ended and so many replies are there. */
function ended(url: string, root: string, replies: number): Promise<Message> {
  return eventually(
    async () => {
      const all = await repliesOf(url, root);
      const last = all.at(-1);
      return all.length === replies && last?.body.kind === 'answer' && !last.body.growing && last;
    },
    { what: `answer as reply ${replies}` },
  );
}

/** Messages only this tab was told, as it heard of them last. */
function privately(tab: Tab): Message[] {
  const heard = tab.heard.flatMap((event) => {
    if (event.kind === 'reply') return [event.reply];
    return event.kind === 'message' ? [event.listed.message] : [];
  });
  const newest = new Map(heard.filter((one) => one.private).map((one) => [one.id, one]));
  return [...newest.values()];
}

const privateAnswer = (tab: Tab) =>
  eventually(() => privately(tab).find(({ body }) => body.kind === 'answer' && !body.growing));

const privateCard = async (tab: Tab): Promise<string> => {
  const { body } = await eventually(() => privately(tab).find((one) => one.body.kind === 'card'));
  return body.kind === 'card' ? textOf(body.card) : '';
};

describe('an answer in a thread', () => {
  test('has the button Stop while it grows, in every tab, and says who pressed it', async () => {
    const { url, provider } = await startTestConsole();
    provider.answerWith(['one ', 'two '], { chunkMs: 1 });
    provider.failWith({ kind: 'stall', afterChunks: 2 });
    const [mine, other] = [await openTab(url), await openTab(url)];
    const thread = await ask(mine, 'count');
    const growing = await eventually(async () => {
      const [reply] = await repliesOf(url, thread);
      return reply && answerOf(reply).text === 'one two ' && reply;
    });
    expect(labelsOf(growing)).toEqual(['Stop']);
    const begun = other.heard.find((event) => event.kind === 'reply');
    expect(begun?.kind === 'reply' && labelsOf(begun.reply)).toEqual(['Stop']);

    expect(await other.press(growing, 'Stop', { thread })).toEqual({ shown: 'nothing' });
    const stopped = await ended(url, thread, 1);
    expect(answerOf(stopped)).toMatchObject({
      text: 'one two ',
      note: 'Stopped by Guest 2 at the web console.',
    });
    expect(labelsOf(stopped)).toEqual(['Try again']);
    await mine.press(growing, 'Stop', { thread });
    expect(await privateCard(mine)).toContain('This answer has already ended.');
  });

  test('is made anew in the same thread, where the first is no longer remembered', async () => {
    const running = await startTestConsole();
    const { url, provider } = running;
    const tab = await openTab(url);
    provider.answerWith('First.');
    const thread = await ask(tab, 'why?');
    const first = await ended(url, thread, 1);
    expect(labelsOf(first)).toEqual(['Regenerate', '👍', '👎']);

    provider.answerWith('Another.');
    const said = await tab.press(first, 'Regenerate', { thread });
    expect(said).toEqual({ shown: 'thread', message: thread });
    const another = await ended(url, thread, 3);
    expect(answerOf(another).text).toBe('Another.');
    expect(told(running)).toEqual(['why?']);
    const [old, asked] = await repliesOf(url, thread);
    expect(asked?.body).toEqual({ kind: 'text', text: 'why?' });
    expect(old?.body).toMatchObject({ text: 'First.', note: 'Answered again below.', actions: [] });
    // Every tab hears of it.
    expect(
      tab.heard.findLast((event) => event.kind === 'reply' && event.reply.id === old?.id),
    ).toMatchObject({ reply: { body: { note: 'Answered again below.' } } });
    expect(await listedAt(url)).toHaveLength(1);
    await tab.say('and then?', { thread });
    await ended(url, thread, 5);
    expect(told(running)).toEqual(['why?', 'Another.', 'and then?']);
  });

  test('is made anew once when two tabs press at once, and the second is told', async () => {
    const { url, provider } = await startTestConsole();
    const [mine, other] = [await openTab(url), await openTab(url)];
    const thread = await ask(mine, 'why?');
    const first = await ended(url, thread, 1);
    await Promise.all([mine, other].map((tab) => tab.press(first, 'Regenerate', { thread })));
    await ended(url, thread, 3);
    const told = await eventually(() =>
      [mine, other].flatMap(privately).find((one) => one.body.kind === 'card'),
    );
    const text = told.body.kind === 'card' ? textOf(told.body.card) : '';
    expect(text).toMatch(/Guest \d at the web console pressed this first\./);
    expect(provider.calls).toHaveLength(2);
    expect(await repliesOf(url, thread)).toHaveLength(3);
  });

  test('goes on where it reached the longest its model gives', async () => {
    const { url, provider } = await startTestConsole();
    const tab = await openTab(url);
    provider.answerWith('Half', { finishReason: 'length' });
    const thread = await ask(tab, 'tell all');
    const half = await ended(url, thread, 1);
    expect(labelsOf(half)).toEqual(['Continue', 'Regenerate', '👍', '👎']);
    provider.answerWith(' and half.');
    await tab.press(half, 'Continue', { thread });
    expect(answerOf(await ended(url, thread, 3)).text).toBe(' and half.');
    const [first] = await repliesOf(url, thread);
    expect(answerOf(first).note).toMatch(/this model's maximum length.* Continued below\.$/);
    expect(labelsOf(first)).toEqual(['👍', '👎']);
  });

  test('that failed is tried again, also after a restart', async () => {
    const folder = await temporaryFolder();
    const before = await startTestConsole({ folder });
    before.provider.failWith({ kind: 'status', status: 500 });
    const thread = await ask(await openTab(before.url), 'why?');
    const failed = await ended(before.url, thread, 1);
    expect(labelsOf(failed)).toEqual(['Try again']);
    await before.stop();

    const after = await startTestConsole({ folder });
    after.provider.answerWith('Because.');
    const [kept] = await repliesOf(after.url, thread);
    expect(kept).toEqual(failed);
    await (await openTab(after.url)).press(kept, 'Try again', { thread });
    expect(answerOf(await ended(after.url, thread, 3))).toMatchObject({ text: 'Because.' });
    expect(told(after)).toEqual(['why?']);
  });

  test('whoever says what they think of it is thanked where nobody else sees it', async () => {
    const { url } = await startTestConsole();
    const [mine, other] = [await openTab(url), await openTab(url)];
    const thread = await ask(mine, 'why?');
    const answer = await ended(url, thread, 1);
    expect(await mine.press(answer, '👍', { thread })).toEqual({
      shown: 'thread',
      message: thread,
    });
    expect(await privateCard(mine)).toContain('Thank you, rated 👍');
    expect(privately(mine)[0]?.command).toBe('👍');
    // Everyone hears of this later one.
    await mine.say('/monitor list');
    await eventually(() => JSON.stringify(other.heard).includes('No monitors'));
    expect(privately(other)).toEqual([]);
    expect(await repliesOf(url, thread)).toEqual([answer]);
  });
});

describe('a private answer', () => {
  test('is shared with its question in the channel, and the thread under it remembers it', async () => {
    const running = await startTestConsole();
    const { url, provider } = running;
    const [mine, other] = [await openTab(url), await openTab(url)];
    provider.answerWith('Quietly.');
    await mine.say('/ask private=true why?');
    const quiet = await privateAnswer(mine);
    expect(labelsOf(quiet)).toEqual(['Share', '👍', '👎']);
    expect(await listedAt(url)).toEqual([]);

    const said = await mine.press(quiet, 'Share');
    const [question, ...more] = await listedAt(url);
    expect(more).toEqual([]);
    expect(question?.body).toEqual({ kind: 'text', text: 'why?' });
    expect(said).toEqual({ shown: 'thread', message: question?.id });
    const thread = question?.id ?? '';
    const shared = await ended(url, thread, 1);
    expect(shared.private).toBeUndefined();
    expect(answerOf(shared)).toMatchObject({
      text: 'Quietly.',
      footer: answerOf(quiet).footer,
    });
    expect(labelsOf(shared)).toEqual(['Regenerate', '👍', '👎']);
    await eventually(() => JSON.stringify(other.heard).includes('Quietly.'));
    // It stands among the others now; only the tab that had it is told.
    const gone = { kind: 'removed', message: quiet.id };
    await eventually(() => mine.heard.some((event) => event.kind === 'removed'));
    expect(mine.heard).toContainEqual(gone);
    expect(other.heard).not.toContainEqual(gone);

    await mine.say('and then?', { thread });
    await ended(url, thread, 3);
    expect(told(running)).toEqual(['why?', 'Quietly.', 'and then?']);
    await mine.press(quiet, 'Share');
    expect(await listedAt(url)).toHaveLength(1);
  });

  test('of a thread is shared in that thread', async () => {
    const { url, provider } = await startTestConsole();
    const tab = await openTab(url);
    const thread = await ask(tab, 'why?');
    await ended(url, thread, 1);
    provider.answerWith('Quietly.');
    await tab.say('/ask private=true and then?', { thread });
    const quiet = await privateAnswer(tab);
    const said = await tab.press(quiet, 'Share', { thread });
    expect(said).toEqual({ shown: 'thread', message: thread });
    expect(answerOf(await ended(url, thread, 3)).text).toBe('Quietly.');
    expect(await listedAt(url)).toHaveLength(1);
  });

  test('is stopped like any other', async () => {
    const { url, provider } = await startTestConsole();
    provider.answerWith(['one ', 'two '], { chunkMs: 1 });
    provider.failWith({ kind: 'stall', afterChunks: 2 });
    const tab = await openTab(url);
    await tab.say('/ask private=true count');
    const growing = await eventually(() => privately(tab)[0]);
    await eventually(() => tab.heard.some((event) => event.kind === 'text'));
    expect(await tab.press(growing, 'Stop')).toEqual({ shown: 'nothing' });
    const stopped = await privateAnswer(tab);
    expect(answerOf(stopped).note).toBe('Stopped by Guest 1 at the web console.');
    expect(labelsOf(stopped)).toEqual([]);
  });

  test('in a thread that is gone is refused with a sentence', async () => {
    const { url } = await startTestConsole();
    const { text: _, ...from } = saying('');
    const press = { ...from, message: 'a1', private: true, action: 'answer share?answer=x' };
    const response = await postPress(url, { ...press, thread: 'qnone' });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining('was deleted') },
    });
  });
});

test('an answer that a kill cut short gets its end after the restart, and can be tried again', async () => {
  const folder = await temporaryFolder();
  const before = await startTestConsole({ folder });
  before.provider.answerWith(['one ', 'two '], { chunkMs: 1 });
  before.provider.failWith({ kind: 'stall', afterChunks: 2 });
  const thread = await ask(await openTab(before.url), 'count');
  const stored: RootMessage = await eventually(() => before.messages.get(thread));
  expect(labelsOf(stored.replies[0])).toEqual(['Stop']);
  await eventually(() => before.provider.calls[0]?.sentChunks === 2);

  const after = await startTestConsole({ folder: await asKilled(folder) });
  const cut = await eventually(async () => {
    const [reply] = await repliesOf(after.url, thread);
    return labelsOf(reply).includes('Try again') && reply;
  });
  expect(answerOf(cut)).toMatchObject({
    growing: false,
    note: 'Interrupted: Askwatch was restarted before this answer was complete. Try again.',
  });
  expect(labelsOf(cut)).toEqual(['Try again']);
  expect(await repliesOf(after.url, thread)).toHaveLength(1);
});

test('at most five buttons of an answer are kept, with what they carry whole', async () => {
  const action = (index: number) => ({
    label: `${index} ${'x'.repeat(78)}`,
    command: 'answer rate',
    values: { answer: String(index) },
  });

  const capped = Message.parse({
    id: 'a1',
    author: { kind: 'askwatch' },
    atMs: 1,
    body: {
      kind: 'answer',
      text: 'x',
      growing: false,
      actions: Array.from({ length: 7 }, (_, index) => action(index)),
    },
  });
  const { actions = [] } = answerOf(capped);
  expect(actions).toEqual([0, 1, 2, 3, 4].map(action));
});
