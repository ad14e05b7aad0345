import { expect, test } from 'vitest';
import { Message, type RootMessage } from '../../../src/console/shared/api-types.ts';
import { asKilled } from '../../helpers/after-kill.ts';
import {
  answerOf,
  ask,
  labelsOf,
  privateMessages,
  wholeAnswer,
} from '../../helpers/console/messages.ts';
import {
  listedAt,
  openTab,
  repliesOf,
  startTestConsole,
  type Tab,
  type TestConsole,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

/** The messages of the model's last call, without the system prompt. */
function lastMessages({ provider }: TestConsole): string[] {
  const given: Array<{ role: string; content: string }> =
    provider.calls.at(-1)?.body.messages ?? [];
  return given.filter(({ role }) => role !== 'system').map(({ content }) => content);
}

const privateAnswer = (tab: Tab) =>
  eventually(() =>
    privateMessages(tab).find(({ body }) => body.kind === 'answer' && !body.growing),
  );

test('Regenerate answers again in the thread, which then forgets the first answer', async () => {
  const running = await startTestConsole();
  const { url, provider } = running;
  const tab = await openTab(url);
  provider.answerWith('First.');
  const thread = await ask(tab, '/ask why?');
  const first = await wholeAnswer(url, thread, 1);
  expect(labelsOf(first)).toEqual(['Regenerate', '👍', '👎']);

  provider.answerWith('Another.');
  const said = await tab.press(first, 'Regenerate', { thread });
  expect(said).toEqual({ shown: 'thread', message: thread });
  const another = await wholeAnswer(url, thread, 3);
  expect(answerOf(another).text).toBe('Another.');
  expect(lastMessages(running)).toEqual(['why?']);
  const [old, asked] = await repliesOf(url, thread);
  expect(asked?.body).toEqual({ kind: 'text', text: 'why?' });
  expect(old?.body).toMatchObject({ text: 'First.', note: 'Answered again below.', actions: [] });
  // Every tab gets the change.
  expect(
    tab.heard.findLast((event) => event.kind === 'reply' && event.reply.id === old?.id),
  ).toMatchObject({ reply: { body: { note: 'Answered again below.' } } });
  expect(await listedAt(url)).toHaveLength(1);
  await tab.say('and then?', { thread });
  await wholeAnswer(url, thread, 5);
  expect(lastMessages(running)).toEqual(['why?', 'Another.', 'and then?']);
});

test('Share shows a private answer with its question in the channel, and its thread remembers it', async () => {
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
  const shared = await wholeAnswer(url, thread, 1);
  expect(shared.private).toBeUndefined();
  expect(answerOf(shared)).toMatchObject({
    text: 'Quietly.',
    footer: answerOf(quiet).footer,
  });
  expect(labelsOf(shared)).toEqual(['Regenerate', '👍', '👎']);
  await eventually(() => JSON.stringify(other.heard).includes('Quietly.'));
  // Only the tab with the private message gets its removal.
  const gone = { kind: 'removed', message: quiet.id };
  await eventually(() => mine.heard.some((event) => event.kind === 'removed'));
  expect(mine.heard).toContainEqual(gone);
  expect(other.heard).not.toContainEqual(gone);

  await mine.say('and then?', { thread });
  await wholeAnswer(url, thread, 3);
  expect(lastMessages(running)).toEqual(['why?', 'Quietly.', 'and then?']);
  await mine.press(quiet, 'Share');
  expect(await listedAt(url)).toHaveLength(1);
});

test('an answer cut by a kill gets its end after the restart, and can be tried again', async () => {
  const folder = await temporaryFolder();
  const before = await startTestConsole({ folder });
  before.provider.answerWith(['one ', 'two '], { chunkMs: 1 });
  before.provider.failWith({ kind: 'stall', afterChunks: 2 });
  const thread = await ask(await openTab(before.url), '/ask count');
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

test('an answer keeps at most five buttons, with their values whole', async () => {
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
