import { expect, test } from 'vitest';
import type { AnswerPart, AnswerStep } from '../../../src/bot/shared/invocation.ts';
import {
  applyEvent,
  emptyState,
  withOpenedThread,
} from '../../../src/console/page/playground/state.ts';
import type { Message } from '../../../src/console/shared/api-types.ts';
import { startGiving } from '../../helpers/console/giving-console.ts';
import { ask } from '../../helpers/console/messages.ts';
import { openTab, repliesOf, type Tab } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';

const RUNNING: AnswerStep = { id: '1', what: 'incidents of the last 7 days', state: 'running' };
const DONE: AnswerStep = { ...RUNNING, state: 'done', found: '12, as of 15:20 UTC' };
const END: AnswerPart = { kind: 'end', footer: 'test-model' };

const textPart = (text: string): AnswerPart => ({ kind: 'text', text });
const stepPart = (step: AnswerStep): AnswerPart => ({ kind: 'step', step });

const answerOf = (message: Message | undefined) =>
  message?.body.kind === 'answer' ? message.body : undefined;

/** The answer in a page that has fetched a part of the thread and received the rest as events. */
function answerAt({ heard }: Tab, root: string, fetched: Message[] = []) {
  const loading = { root, status: 'loading' as const, replies: [], pending: [] };
  const begun = withOpenedThread({ ...emptyState, thread: loading }, root, fetched);
  const { thread } = heard.filter(({ kind }) => kind !== 'snapshot').reduce(applyEvent, begun);
  return answerOf(thread?.replies.at(-1));
}

test('the steps of an answer are shown with its text, also in a page loaded later, and stored', async () => {
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

test('steps are cut to a size, and link only to web pages', async () => {
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
