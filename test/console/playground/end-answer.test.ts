import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Interrupted } from '../../../src/bot/shared/invocation.ts';
import type { Message, RootMessage } from '../../../src/console/shared/api-types.ts';
import {
  listedAt,
  openTab,
  repliesOf,
  snapshotOf,
  startTestConsole,
  type TestConsole,
} from '../../helpers/console/test-console.ts';

const ID = randomUUID();
const THREAD = `q${ID}`;
const AGAIN = { label: 'Try again', command: 'ask again', values: { answer: 'x' } };
const STEP = { id: '1', what: 'incidents of the last 7 days', state: 'done' as const };

const question: Message = {
  ...{ id: THREAD, author: { kind: 'person', id: 'u1', name: 'Ann' }, atMs: 1 },
  body: { kind: 'text', text: 'why?' },
};

/** The thread of the question after a kill. */
const left = (...replies: Message[]): RootMessage[] => [
  { channel: 'general', message: question, replies },
];

const growing: Message = {
  ...{ id: `a${ID}`, author: { kind: 'askwatch' }, atMs: 2 },
  body: { kind: 'answer', text: 'Because', growing: true, steps: [STEP] },
};

/** An interrupted question, asked at the top of the channel. */
const interrupted = (more: Partial<Interrupted> = {}): Interrupted => ({
  ...{ id: 'x', invocation: `console:${ID}`, channel: 'general', person: 'u1', private: false },
  ...{ beganAtMs: 2, note: 'It was interrupted.', actionsIn: async () => [AGAIN] },
  ...more,
});

const ended = (text: string) => ({
  body: {
    ...{ kind: 'answer', text, growing: false, note: 'It was interrupted.', actions: [AGAIN] },
  },
});

const end = ({ console }: TestConsole, more?: Partial<Interrupted>) =>
  console.endAnswer?.(interrupted(more));

test('an interrupted answer keeps its text and gets the note and the buttons, once', async () => {
  const running = await startTestConsole({ stored: left(growing) });
  const tab = await openTab(running.url);
  await snapshotOf(tab);
  const shown = { thread: THREAD, shown: { message: growing.id } };
  await end(running, shown);
  await end(running, { ...shown, note: 'It was interrupted twice.' });
  const replies = await repliesOf(running.url, THREAD);
  expect(replies).toMatchObject([{ id: growing.id, ...ended('Because') }]);
  expect(replies[0]?.body).toMatchObject({ steps: [STEP] });
  expect(tab.heard.filter(({ kind }) => kind === 'reply')).toHaveLength(1);
});

test('the note is the reply under a question without one', async () => {
  const running = await startTestConsole({ stored: left() });
  await end(running);
  await end(running);
  expect(await repliesOf(running.url, THREAD)).toMatchObject([{ id: `a${ID}`, ...ended('') }]);
});

test('the note is a message for the asker if nothing was shown', async () => {
  const running = await startTestConsole();
  const tab = await openTab(running.url);
  await tab.say('/monitor list');
  const { person } = await snapshotOf(tab);
  const asked: string[] = [];
  await end(running, {
    person: person.id,
    async actionsIn(thread) {
      asked.push(thread);
      return [AGAIN];
    },
  });
  const [, told] = await listedAt(running.url);
  expect(told).toMatchObject({ id: `a${ID}`, by: { id: person.id }, ...ended('') });
  expect(asked).toEqual([`a${ID}`]);
});

test.each([undefined, THREAD])(
  'only the asker sees a private note, also in a page that reconnects later; thread %s',
  async (thread) => {
    const running = await startTestConsole({ stored: left() });
    const { url } = running;
    const mine = await openTab(url);
    const { person } = await snapshotOf(mine);
    mine.close();
    const invocation = `console:${randomUUID()}`;
    const isPrivate = { person: person.id, private: true };
    await end(running, { ...isPrivate, invocation, thread });
    const read = async (cookie?: string) =>
      thread === undefined ? await listedAt(url, cookie) : await repliesOf(url, thread, cookie);
    expect((await read(mine.cookie)).at(-1)).toMatchObject({ private: true, ...ended('') });
    expect(JSON.stringify(await read())).not.toContain('interrupted');
    expect(JSON.stringify(await running.messages.list())).not.toContain('interrupted');
  },
);
