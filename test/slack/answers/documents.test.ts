import { expect, test } from 'vitest';
import type { AnswerDocument } from '../../../src/bot/shared/invocation.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import type { Message } from '../../fakes/slack/workspace.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { interruptible } from '../../helpers/slack/interruptible.ts';
import { makeSlack, RESTING } from '../../helpers/slack/running-slack.ts';
import { DIRECT, failed, methods, ours, WHOLE } from '../../helpers/slack/streaming-runs.ts';
import { withCards } from '../../helpers/slack/with-cards.ts';

const DOCUMENT: AnswerDocument = {
  name: 'postmortem-1a2b3c4d-2026-11-20.md',
  mediaType: 'text/markdown',
  text: '# Postmortem draft: Café\n\nWords – and more.\n',
};

/** The bot in a workspace whose answers have the document. */
async function startProcess(fake: SlackFake) {
  const { slack, lines } = await makeSlack({ fake, drainMs: 100 });
  const test = await startTestBot({ settings: RESTING });
  test.provider.answerWith('All of it.');
  let hasEnded = false;
  const onEnded = () => {
    hasEnded = true;
  };
  const life = interruptible(withCards(test.bot, { cards: [], document: DOCUMENT, onEnded }));
  await slack.start(life.bot);
  return { ...test, ...life, slack, lines, hasEnded: () => hasEnded };
}

async function begin() {
  const fake = await startSlack();
  fake.addChannel({ id: DIRECT });
  return { fake, ...(await startProcess(fake)) };
}

const ask = (fake: SlackFake, channel: string = CHANNEL) =>
  fake[channel === DIRECT ? 'say' : 'mention']('sum it up', { channel });

const filesIn = (fake: SlackFake, thread: string, channel: string = CHANNEL) =>
  ours(fake, channel, thread).flatMap(({ files }) => files ?? []);

const FILE = {
  id: expect.any(String),
  name: DOCUMENT.name,
  title: DOCUMENT.name,
  text: DOCUMENT.text,
};

test.each([
  ['a channel', CHANNEL],
  ['a direct conversation', DIRECT],
])('in %s the document of an answer is a file below it, in its thread', async (_where, channel) => {
  const { fake, hasEnded } = await begin();
  const thread = ask(fake, channel);
  await eventually(hasEnded);
  const [answer, below, ...more] = ours(fake, channel, thread);
  expect(labelsOf(answer as Message)).toEqual(WHOLE);
  expect(below).toMatchObject({ thread_ts: thread, files: [FILE] });
  expect(shownText(below as Message)).toBe(`As a file: ${DOCUMENT.name}`);
  expect(more).toEqual([]);
  expect(methods(fake).filter((method) => /^(files|upload)/.test(method))).toEqual([
    ...['files.getUploadURLExternal', 'upload', 'files.completeUploadExternal'],
  ]);
  expect(failed(fake)).toEqual([]);
  expect(fake.unhandled).toEqual([]);
});

test('a line names the missing scope for files', async () => {
  const { fake, hasEnded } = await begin();
  fake.scopes.delete('files:write');
  const thread = ask(fake);
  await eventually(hasEnded);
  const [answer, note, ...more] = ours(fake, CHANNEL, thread);
  expect(labelsOf(answer as Message)).toEqual(WHOLE);
  expect(shownText(note as Message)).toBe(
    `The file ${DOCUMENT.name} could not be attached. The Slack app lacks the scope files:write. Add it under "OAuth & Permissions" and reinstall the app.`,
  );
  expect(more).toEqual([]);
  expect(methods(fake)).not.toContain('upload');
});

test.each([
  ['files.getUploadURLExternal', { kind: 'limited', retryAfterSeconds: 1 }],
  ['files.getUploadURLExternal', { kind: 'status', status: 503 }],
  ['upload', { kind: 'status', status: 500 }],
  ['upload', { kind: 'drop' }],
  ['files.completeUploadExternal', { kind: 'drop' }],
  ['files.completeUploadExternal', { kind: 'drop', stored: true }],
  ['files.completeUploadExternal', { kind: 'limited', retryAfterSeconds: 1 }],
] as const)('where %s fails with %j the file is there once all the same', async (method, fault) => {
  const { fake, hasEnded } = await begin();
  fake.fail(method, fault, { times: 1 });
  const thread = ask(fake);
  await eventually(hasEnded);
  expect(filesIn(fake, thread)).toEqual([FILE]);
  expect(ours(fake, CHANNEL, thread)).toHaveLength(2);
});

test('a file that Slack does not take is told, with why', async () => {
  const { fake, hasEnded } = await begin();
  fake.fail('files.completeUploadExternal', { kind: 'error', error: 'is_archived' });
  const thread = ask(fake);
  await eventually(hasEnded);
  expect(ours(fake, CHANNEL, thread).map(shownText).at(-1)).toMatch(
    /could not be attached\. The channel is archived\./,
  );
});

test('a file in a direct conversation is not mistaken for a stream that a restart interrupted', async () => {
  const { fake, hasEnded, slack, interrupted } = await begin();
  const thread = ask(fake, DIRECT);
  await eventually(hasEnded);
  const before = ours(fake, DIRECT, thread).map((message) => shownText(message));
  const { shown: { after = '' } = {} } = interrupted();
  await slack.endAnswer?.(interrupted({ shown: { after } }));
  expect(ours(fake, DIRECT, thread).map((message) => shownText(message))).toEqual(before);
});
