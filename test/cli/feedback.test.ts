import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { draftsOf } from '../../evals/run/drafts.ts';
import { exportedLines } from '../../src/bot/feedback/export.ts';
import { createFeedback } from '../../src/bot/feedback/feedback.ts';
import { runFeedback } from '../../src/cli/feedback.ts';
import { CommandLineError, type FeedbackOptions } from '../../src/cli/options.ts';
import { openControl } from '../../src/http/control.ts';
import { openKeys } from '../../src/http/keys.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const SECRET = 'xoxb-111111111111-of-our-own';
const AT = { place: 'slack:T1/C1', thread: '1.1' };

/** A data folder with two rated answers and a private one, where no program runs. */
async function ratedFolder() {
  const folder = await temporaryFolder();
  vi.stubEnv('DATA_DIR', folder);
  vi.stubEnv('DATABASE_URL', '');
  vi.stubEnv('OPENAI_API_KEY', 'a-key-that-looks-like-nothing');
  onTestFinished(() => void vi.unstubAllEnvs());
  const open = () => openLowdbStore({ folder, log: recordingLog().log });
  const store = await open();
  const feedback = createFeedback(store, { days: 90 });
  const by = (person: string, invocation: string) => ({ ...AT, person, invocation });
  const said = {
    question: `is ${SECRET} or a-key-that-looks-like-nothing right?`,
    answer: 'Yes.',
    calls: [{ tool: 'list_monitors', input: '{}', result: '{"total":0}' }],
  };
  await feedback.rate('a', 'bad', by('U1', 'i1'), { model: 'm', times: {}, said });
  await feedback.explain('a', { what: 'no' }, by('U1', 'i2'), undefined);
  const good = { ...said, question: 'good?' };
  await feedback.rate('b', 'good', by('U2', 'i3'), { model: 'm', times: {}, said: good });
  const alone = { place: AT.place, person: 'U1', invocation: 'i4' };
  await feedback.rate('c', 'bad', alone, { model: 'm', times: {} });
  await store.close();
  return { folder, open };
}

async function run(options: FeedbackOptions = {}, ...words: string[]) {
  const out = new PassThrough();
  const read = text(out);
  const done = runFeedback(words.length > 0 ? words : ['export'], options, {
    version: '0.0.0',
    out,
  });
  const bytes = await done.finally(() => out.end());
  const lines = (await read).split('\n').filter((line) => line !== '');
  return { bytes, lines: lines.map((line) => JSON.parse(line)), text: await read };
}

/** Ids of the lines, sorted because lines of one millisecond have no order. */
const idsOf = ({ lines }: Awaited<ReturnType<typeof run>>) => lines.map(({ id }) => id).sort();

test.each([
  [[], {}, 'needs the subcommand export'],
  [['fly'], {}, 'needs the subcommand export'],
  [['export', 'more'], {}, 'needs the subcommand export'],
  [['export'], { since: 'yesterday' }, 'or a date such as 2026-11-01'],
  [['export'], { since: '2026-13-45' }, 'or a date such as 2026-11-01'],
])('feedback %j %j is refused before anything is opened', async (words, options, said) => {
  const done = runFeedback(words, options, { version: '0.0.0', out: new PassThrough() });
  await expect(done).rejects.toBeInstanceOf(CommandLineError);
  await expect(done).rejects.toThrow(said);
});

test('rated answers are read from the data folder where no program runs', async () => {
  await ratedFolder();
  const { lines: written, text: all } = await run();
  const lines = written.sort((one, other) => (one.id < other.id ? -1 : 1));
  expect(lines.map(({ id, up, down }) => [id, up, down])).toEqual([
    ['a', 0, 1],
    ['b', 1, 0],
    ['c', 0, 1],
  ]);
  expect(lines[0].question).toBe('is [secret] or [secret] right?');
  expect(lines[2]).not.toHaveProperty('question');
  expect(all).not.toMatch(/xoxb|looks-like-nothing|U1|C1/);
  expect(idsOf(await run({ down: true }))).toEqual(['a', 'c']);
  const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  expect(await run({ since: tomorrow })).toMatchObject({ bytes: 0, lines: [] });
  expect((await run({ since: '7d' })).lines).toHaveLength(3);
  expect((await run({ since: '2026-01-01' })).lines).toHaveLength(3);
});

/** A program that runs on a folder, as far as the command line knows it. */
async function startRunning(
  { folder, open }: Awaited<ReturnType<typeof ratedFolder>>,
  { isOld = false } = {},
) {
  const store = await open();
  const { log } = recordingLog();
  const feedback = createFeedback(store, { days: 90 });
  const keys = {
    gateway: await openKeys(store, 'gateway'),
    monitoring: await openKeys(store, 'monitoring'),
  };
  const control = await openControl({
    ...{ folder, keys, log },
    listeningUrl: () => 'http://127.0.0.1:3000',
    ...(!isOld && { feedback: (query) => exportedLines(feedback, query, (line) => line) }),
  });
  onTestFinished(async () => {
    await control.close();
    await store.close();
  });
}

test('the program that runs is asked, with the same words', async () => {
  await startRunning(await ratedFolder());
  expect(idsOf(await run())).toEqual(['a', 'b', 'c']);
  expect(idsOf(await run({ down: true }))).toEqual(['a', 'c']);
  expect((await run({ since: '2999-01-01' })).lines).toEqual([]);
});

test('a program that knows nothing of feedback yet is to be restarted', async () => {
  await startRunning(await ratedFolder(), { isOld: true });
  await expect(run()).rejects.toThrow('older than this command. Restart it first.');
});

test('whoever has read enough ends it quietly', async () => {
  await ratedFolder();
  const out = new Writable({
    write: (_piece, _encoding, done) => done(Object.assign(new Error('gone'), { code: 'EPIPE' })),
  });
  await expect(runFeedback(['export'], {}, { version: '0.0.0', out })).resolves.toBeGreaterThan(0);
});

test('what is exported becomes drafts of cases', async () => {
  await ratedFolder();
  const drafts = draftsOf((await run()).text);
  expect(drafts.split('\n')).toEqual([
    '// {',
    "//   id: 'draft-1',",
    '//   question: "is [secret] or [secret] right?",',
    '//   tags: [],',
    '//   // What was answered:',
    '//   // Yes.',
    '//   // What was wrong:',
    '//   // no',
    '//   criteria: [looked(tool("list_monitors"))],',
    '// },',
    '// Left out: 1 without 👎, 1 of which only ratings are kept.',
  ]);
});
