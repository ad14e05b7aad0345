import { expect, onTestFinished, test, vi } from 'vitest';
import { exportedLines } from '../../../src/bot/feedback/export.ts';
import { createFeedback, type RatedBy } from '../../../src/bot/feedback/feedback.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { filesWith, openTestStore, storedText } from '../../helpers/test-store.ts';

const DAY_MS = 86_400_000;
const AT = { place: 'console:general', thread: 'T1' };

async function openFeedback({ days = 90, folder = '', maxCases = 2_000 } = {}) {
  const at = folder || (await temporaryFolder());
  const store = await openTestStore({ folder: at, log: recordingLog().log });
  onTestFinished(() => store.close());
  const clock = { nowMs: Date.now() };
  vi.spyOn(Date, 'now').mockImplementation(() => clock.nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  return { feedback: createFeedback(store, { days, maxCases }), folder: at, clock, store };
}

let invocations = 0;
const by = (person: string, more: Partial<RatedBy> = {}): RatedBy => {
  invocations += 1;
  return { ...AT, person, invocation: `i${invocations}`, ...more };
};

const CALLS = [{ tool: 'list_monitors', input: '{"status":"down"}', result: '{"total":0}' }];
const RATED = {
  model: 'm',
  times: { askedAtMs: 1_000, firstTextAtMs: 2_000, wholeAtMs: 3_000 },
  said: { question: 'what is down?', answer: 'Nothing is.', calls: CALLS },
};

const linesOf = async (
  feedback: Parameters<typeof exportedLines>[0],
  query = {},
  redact = (line: string) => line,
) => {
  const lines: string[] = [];
  for await (const line of exportedLines(feedback, query, redact)) lines.push(line);
  return lines;
};

test('each person has one rating, which they can change or take back', async () => {
  const { feedback } = await openFeedback();
  expect(await feedback.rate('a', 'good', by('U1'), RATED)).toBe('good');
  expect(await feedback.rate('a', 'bad', by('U1'), RATED)).toBe('bad');
  expect(await feedback.rate('a', 'bad', by('U2'), RATED)).toBe('bad');
  expect(await feedback.countsIn(AT.place, 0)).toEqual([{ model: 'm', good: 0, bad: 2 }]);
  expect(await feedback.rate('a', 'bad', by('U1'), RATED)).toBe('none');
  expect(await feedback.countsIn(AT.place, 0)).toEqual([{ model: 'm', good: 0, bad: 1 }]);
  expect(await feedback.countsIn('console:other', 0)).toEqual([]);
  expect(await feedback.rate('a', 'bad', by('U1'), RATED)).toBe('bad');
});

test('a repeated invocation changes nothing', async () => {
  const { feedback } = await openFeedback();
  const first = by('U1');
  expect(await feedback.rate('a', 'bad', first, RATED)).toBe('bad');
  expect(await feedback.rate('a', 'bad', first, RATED)).toBe('bad');
  const second = by('U1');
  expect(await feedback.rate('a', 'bad', second, RATED)).toBe('none');
  expect(await feedback.rate('a', 'bad', second, RATED)).toBe('none');
});

test('texts without a rating are in no file, and come back with the next rating', async () => {
  const { feedback, folder } = await openFeedback();
  await feedback.rate('a', 'bad', by('U1'), RATED);
  expect(await feedback.explain('a', { what: 'it was not so' }, by('U1'), undefined)).toBe(true);
  expect(await filesWith('Nothing is.', folder)).not.toEqual([]);
  await feedback.rate('a', 'bad', by('U1'), undefined);
  expect(await filesWith('Nothing is.', folder)).toEqual([]);
  expect(await filesWith('it was not so', folder)).toEqual([]);
  expect(await linesOf(feedback)).toEqual([]);
  await feedback.rate('a', 'good', by('U2'), RATED);
  expect(JSON.parse((await linesOf(feedback))[0] ?? '')).toMatchObject({
    ...{ up: 1, down: 0, question: 'what is down?' },
  });
});

test('any person’s id can rate', async () => {
  const { feedback } = await openFeedback();
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
    expect(await feedback.rate('a', 'good', by(name), RATED)).toBe('good');
  }
  expect(await feedback.countsIn(AT.place, 0)).toEqual([{ model: 'm', good: 3, bad: 0 }]);
});

test('long texts are cut, and only the last hundred ratings are kept', async () => {
  const { feedback, folder } = await openFeedback();
  const huge = 'ä🧨'.repeat(200_000);
  const calls = Array.from({ length: 50 }, () => ({ tool: 't', input: huge, result: huge }));
  await feedback.evidence.keep(AT, 'a', calls);
  const said = { question: huge, answer: huge, calls };
  for (let i = 1; i <= 102; i += 1) {
    await feedback.rate('a', 'good', by(`U${i}`), { ...RATED, said });
  }
  const kept = await feedback.get('a');
  const people = Object.keys(kept?.ratings ?? {});
  expect([people.length, people[0], people.at(-1)]).toEqual([100, 'U3', 'U102']);
  expect(kept?.said?.isCut).toBe(true);
  expect(kept?.said?.answer).not.toContain('\ufffd');
  expect(await storedText(folder)).toContain('T1');
  expect((await storedText(folder)).length).toBeLessThan(150_000);
  expect((await linesOf(feedback))[0]).toContain('"cut":true');
});

test('look-ups are kept for the last five answers of a thread, and for a day', async () => {
  const { feedback, clock, folder } = await openFeedback();
  const { evidence } = feedback;
  for (let i = 1; i <= 6; i += 1) await evidence.keep(AT, `a${i}`, CALLS);
  expect(await evidence.of(AT, 'a1')).toEqual([]);
  expect(await evidence.of(AT, 'a2')).toEqual(CALLS);
  clock.nowMs += DAY_MS + 1;
  expect(await evidence.of(AT, 'a6')).toEqual([]);
  await feedback.forgetOld();
  expect(await filesWith('list_monitors', folder)).toEqual([]);
});

test('rated answers expire after the set days, and only the newest are kept', async () => {
  const { feedback, clock, folder } = await openFeedback({ days: 90, maxCases: 3 });
  await feedback.rate('a', 'bad', by('U1'), RATED);
  clock.nowMs += 60 * DAY_MS;
  await feedback.rate('a', 'bad', by('U2'), RATED);
  for (const id of ['b', 'c', 'd', 'e']) {
    clock.nowMs += 1;
    await feedback.rate(id, 'good', by('U1'), RATED);
  }
  clock.nowMs += 30 * DAY_MS;
  expect(await feedback.countsIn(AT.place, 0)).toEqual([{ model: 'm', good: 4, bad: 0 }]);
  expect(await linesOf(feedback)).toHaveLength(4);
  await feedback.forgetOld();
  const ids = (await linesOf(feedback)).map((line) => JSON.parse(line).id);
  expect(ids).toEqual(['c', 'd', 'e']);
  expect(await feedback.get('a')).toBeUndefined();
  clock.nowMs += 90 * DAY_MS;
  await feedback.forgetOld();
  expect(await filesWith('Nothing is.', folder)).toEqual([]);
});

test('0 days keep ratings without texts, and delete older texts', async () => {
  const before = await openFeedback();
  await before.feedback.rate('old', 'bad', by('U1'), RATED);
  await before.feedback.explain('old', { what: 'it was not so' }, by('U1'), RATED);
  await before.store.close();
  const { feedback, folder } = await openFeedback({ days: 0, folder: before.folder });
  await feedback.rate('new', 'bad', by('U1'), RATED);
  await feedback.explain('new', { reason: 'wrong', what: 'not at all' }, by('U1'), RATED);
  await feedback.forgetOld();
  expect(await feedback.countsIn(AT.place, 0)).toEqual([{ model: 'm', good: 0, bad: 2 }]);
  for (const text of ['Nothing is.', 'what is down?', 'it was not so', 'not at all', 'total']) {
    expect(await filesWith(text, folder)).toEqual([]);
  }
});

test('exported lines contain no person, place or secret', async () => {
  const { feedback, clock } = await openFeedback();
  clock.nowMs = Date.parse('2026-11-27T10:00:00Z');
  const question = 'is https://ada:hunter2hunter2@shop.example up?\u2028\u009b31m token sk-12345';
  const calls = [...CALLS, { tool: 'get_monitor', input: '{broken', result: 'cut…' }];
  const said = { question, answer: 'Yes.', calls };
  await feedback.rate('a', 'bad', by('U1'), { ...RATED, said });
  await feedback.explain('a', { reason: 'wrong', what: '*no*' }, by('U1'), undefined);
  clock.nowMs += DAY_MS;
  await feedback.rate('b', 'good', by('U1'), RATED);
  const redact = (line: string) => line.replaceAll('sk-12345', '[secret]');
  const [first = '', second, ...others] = await linesOf(feedback, {}, redact);
  expect(others).toEqual([]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be in it
  expect(first).toMatch(/^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028]+\n$/);
  expect(JSON.parse(first)).toEqual({
    id: 'a',
    ratedAt: '2026-11-27T10:00:00.000Z',
    platform: 'console',
    model: 'm',
    up: 0,
    down: 1,
    wrong: [{ reason: 'wrong', what: '*no*' }],
    question: 'is https://[secret]@shop.example up?\u2028\u009b31m token [secret]',
    answer: 'Yes.',
    tools: ['list_monitors', 'get_monitor'],
    calls: [
      { tool: 'list_monitors', input: { status: 'down' }, result: { total: 0 } },
      { tool: 'get_monitor', input: '{broken', result: 'cut…' },
    ],
    askedAt: '1970-01-01T00:00:01.000Z',
    firstTextAt: '1970-01-01T00:00:02.000Z',
    wholeAt: '1970-01-01T00:00:03.000Z',
  });
  expect(first + second).not.toMatch(/"U1"|general|"T1"/);
  expect(await linesOf(feedback, { down: true })).toHaveLength(1);
  expect(await linesOf(feedback, { sinceMs: clock.nowMs })).toEqual([second]);
});
