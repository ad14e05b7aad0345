import { expect, test } from 'vitest';
import type { AnswerPart, AnswerStep } from '../../../src/bot/shared/invocation.ts';
import { apply, emptyState, opened } from '../../../src/console/page/playground/state.ts';
import type { Body, Message } from '../../../src/console/shared/api-types.ts';
import { startGiving } from '../../helpers/console/giving-console.ts';
import {
  listedAt,
  openTab,
  repliesOf,
  startTestConsole,
  type Tab,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';

const RUNNING: AnswerStep = { id: '1', what: 'incidents of the last 7 days', state: 'running' };
const DONE: AnswerStep = { ...RUNNING, state: 'done', found: '12, as of 15:20 UTC' };
const END: AnswerPart = { kind: 'end', footer: 'test-model' };

const textPart = (text: string): AnswerPart => ({ kind: 'text', text });
const stepPart = (step: AnswerStep): AnswerPart => ({ kind: 'step', step });

/** Asks in the channel; resolves to the thread once the answer has begun in it. */
async function ask(tab: Tab): Promise<string> {
  const said = await tab.say('/ask why?');
  if (said.shown !== 'thread') throw new Error('There is no thread.');
  return said.message;
}

const answerOf = (message: Message | undefined) =>
  message?.body.kind === 'answer' ? message.body : undefined;

/** The answer as a page shows it that has fetched so much of the thread, and has heard the rest. */
function answerAt({ heard }: Tab, root: string, fetched: Message[] = [], events = heard.length) {
  const loading = { root, status: 'loading' as const, replies: [], pending: [] };
  const begun = opened({ ...emptyState, thread: loading }, root, fetched);
  const { thread } = heard
    .slice(0, events)
    .filter(({ kind }) => kind !== 'snapshot')
    .reduce(apply, begun);
  return answerOf(thread?.replies.at(-1));
}

/** The private answer at the top of the channel as a page shows it. */
const privateAt = ({ heard }: Tab) =>
  answerOf(heard.reduce(apply, emptyState).messages.at(-1)?.message);

test('what is looked at stands with the text, also in a page that is loaded meanwhile, and is stored', async () => {
  const { url, give, messages } = await startGiving();
  const tab = await openTab(url);
  const thread = await ask(tab);
  give(textPart('One '), stepPart(RUNNING));
  await eventually(() => answerAt(tab, thread)?.steps);
  expect(answerAt(tab, thread)).toMatchObject({ text: 'One ', growing: true, steps: [RUNNING] });

  const late = await openTab(url);
  const fetched = await repliesOf(url, thread);
  expect(answerOf(fetched[0])).toMatchObject({ text: 'One ', steps: [RUNNING] });
  await eventually(() => late.heard.length > 0);
  give(textPart('two '), stepPart(DONE), textPart('three.'));
  for (const [one, from] of [
    [tab, []],
    [late, fetched],
  ] as const) {
    await eventually(() => answerAt(one, thread, [...from])?.text === 'One two three.');
    expect(answerAt(one, thread, [...from])).toMatchObject({ growing: true, steps: [DONE] });
  }
  await eventually(async () => {
    const stored = answerOf((await messages.get(thread))?.replies[0]);
    return stored?.growing && stored.steps?.[0]?.state === 'done';
  });

  give(END);
  await eventually(() => answerAt(late, thread, fetched)?.growing === false);
  const whole = { text: 'One two three.', steps: [DONE], footer: 'test-model' };
  expect(answerAt(tab, thread)).toMatchObject(whole);
  expect(answerOf((await messages.get(thread))?.replies[0])).toMatchObject(whole);
});

test('text and steps that come at once come to the same, in whatever order', async () => {
  const { url, give } = await startGiving();
  const tab = await openTab(url);
  const thread = await ask(tab);
  let text = '';
  for (let no = 0; no < 60; no += 1) {
    text += `${no} `;
    const step = { ...RUNNING, id: `${no % 3}`, found: `${no}` };
    give(...(no % 2 === 0 ? [textPart(`${no} `)] : [stepPart(step), textPart(`${no} `)]));
    if (no % 4 === 0) await new Promise((resolve) => setTimeout(resolve, 15));
  }
  await eventually(() => answerAt(tab, thread)?.text === text);
  expect(answerAt(tab, thread)?.steps?.map(({ found }) => found)).toEqual(['55', '57', '59']);
  let shown = '';
  for (let events = 1; events <= tab.heard.length; events += 1) {
    const now = answerAt(tab, thread, [], events)?.text ?? '';
    expect(text.startsWith(now) && now.startsWith(shown)).toBe(true);
    shown = now;
  }
});

test('what is looked at for a private answer is told to who asked alone', async () => {
  const { url, give } = await startGiving();
  const [mine, other] = [await openTab(url), await openTab(url)];
  await mine.say('/ask private=true why?');
  give(textPart('Quietly '), stepPart(RUNNING));
  await eventually(() => privateAt(mine)?.steps);
  expect(privateAt(mine)).toMatchObject({ text: 'Quietly ', growing: true, steps: [RUNNING] });
  const [reloaded] = await listedAt(url, mine.cookie);
  expect(answerOf(reloaded)).toMatchObject({ text: 'Quietly ', steps: [RUNNING] });

  give(stepPart(DONE), textPart('so.'));
  await eventually(() => privateAt(mine)?.text === 'Quietly so.');
  expect(privateAt(mine)).toMatchObject({ growing: true, steps: [DONE] });
  give(END);
  await eventually(() => privateAt(mine)?.growing === false);
  expect(privateAt(mine)?.steps).toEqual([DONE]);
  // Everyone hears of this later one.
  await mine.say('/monitor list');
  await eventually(() => JSON.stringify(other.heard).includes('No monitors'));
  expect(JSON.stringify(other.heard)).not.toContain('incidents');
});

test('what is looked at for a private answer in a thread stands in that thread', async () => {
  const { url, give } = await startGiving();
  const tab = await openTab(url);
  const thread = await ask(tab);
  give(textPart('Aloud.'), END);
  await eventually(() => answerAt(tab, thread)?.growing === false);
  await tab.say('/ask private=true and?', { thread });
  give(stepPart(RUNNING));
  await eventually(() => answerAt(tab, thread)?.steps);
  const [, reply] = await repliesOf(url, thread, tab.cookie);
  expect(answerOf(reply)?.steps).toEqual([RUNNING]);
  expect(await repliesOf(url, thread)).toHaveLength(1);
});

test('steps are cut to a size that can be kept, and lead to pages of the web alone', async () => {
  const { url, give, messages } = await startGiving();
  const tab = await openTab(url);
  const thread = await ask(tab);
  const long = 'x'.repeat(2_000);
  const hostile: AnswerStep = { ...DONE, what: long, found: long, url: 'javascript:alert(1)' };
  const more = Array.from({ length: 30 }, (_, no) => ({ ...DONE, id: `m${no}` }));
  const linked = { ...DONE, id: 'linked', url: 'https://status.example/shop' };
  give(...[hostile, linked, ...more].map(stepPart), textPart('So.'));
  await eventually(() => answerAt(tab, thread)?.steps?.length === 20);
  const cut = { ...DONE, what: `${'x'.repeat(999)}…`, found: `${'x'.repeat(999)}…` };
  const expected = [cut, linked];
  expect(answerAt(tab, thread)?.steps?.slice(0, 2)).toEqual(expected);
  give(END);
  await eventually(() => answerAt(tab, thread)?.growing === false);
  const stored = answerOf((await messages.get(thread))?.replies[0]);
  expect(stored?.steps?.slice(0, 2)).toEqual(expected);
  expect(stored?.steps).toHaveLength(20);
});

test('an answer that a crash cut keeps what was looked at for it', async () => {
  const author = { kind: 'person', id: 'u1', name: 'Ann' } as const;
  const question: Message = { id: 'q', author, atMs: 1, body: { kind: 'text', text: 'why?' } };
  const body = { kind: 'answer', text: 'One ', growing: true, steps: [DONE] } satisfies Body;
  const replies: Message[] = [{ id: 'a', author: { kind: 'askwatch' }, atMs: 2, body }];
  const { url } = await startTestConsole({
    stored: [{ channel: 'general', message: question, replies }],
  });
  const [reply] = await repliesOf(url, 'q');
  expect(answerOf(reply)).toMatchObject({ text: 'One ', growing: false, steps: [DONE] });
});
