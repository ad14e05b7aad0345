import { Writable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { draftsOf } from '../../evals/run/drafts.ts';
import { exportedLines } from '../../src/bot/feedback/export.ts';
import { createFeedback } from '../../src/bot/feedback/feedback.ts';
import { runCommandLine } from '../../src/cli/commands.ts';
import { openControl } from '../../src/http/control.ts';
import { openKeys } from '../../src/http/keys.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { program, runCommand } from '../helpers/run-command.ts';
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

async function run(...words: string[]) {
  const { code, out, err } = await runCommand('feedback', 'export', ...words);
  const lines = out.split('\n').filter((line) => line !== '');
  return { code, err, lines: lines.map((line) => JSON.parse(line)), text: out };
}

/** Ids of the lines, sorted because lines of one millisecond have no order. */
const idsOf = ({ lines }: Awaited<ReturnType<typeof run>>) => lines.map(({ id }) => id).sort();

test.each(['yesterday', '2026-13-45'])(
  '--since %s is refused before anything is opened',
  async (since) => {
    const { code, err } = await run('--since', since);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining('or a date such as 2026-11-01'),
    });
  },
);

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
  expect(idsOf(await run('--down'))).toEqual(['a', 'c']);
  const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  const none = { code: 0, lines: [], err: 'No rated answers in that period.\n' };
  expect(await run('--since', tomorrow)).toMatchObject(none);
  expect(await run('--since', tomorrow, '--quiet')).toMatchObject({ ...none, err: '' });
  expect((await run('--since', '7d')).lines).toHaveLength(3);
  expect((await run('--since', '2026-01-01')).lines).toHaveLength(3);
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
  expect(idsOf(await run('--down'))).toEqual(['a', 'c']);
  expect((await run('--since', '2999-01-01')).lines).toEqual([]);
});

test('a program that knows nothing of feedback yet is to be restarted', async () => {
  await startRunning(await ratedFolder(), { isOld: true });
  const { code, err } = await run();
  expect({ code, err }).toEqual({
    code: 1,
    err: 'The running Askwatch is older than this command. Restart it first.\n',
  });
});

test('whoever has read enough ends it quietly', async () => {
  await ratedFolder();
  const out = new Writable({
    write: (_piece, _encoding, done) => done(Object.assign(new Error('gone'), { code: 'EPIPE' })),
  });
  await expect(runCommandLine(['feedback', 'export'], { program, out, err: out })).resolves.toBe(0);
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
