import { expect, onTestFinished, test, vi } from 'vitest';
import { coveredEntry } from '../../../src/monitoring/history/result-record.ts';
import type { ResultsJournal } from '../../../src/monitoring/history/results-journal.ts';
import { createResultsWriter } from '../../../src/monitoring/history/results-journal.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

const entry = (atMs: number) => coveredEntry('a', atMs);
const diskFull = () => Object.assign(new Error('no space left'), { syscall: 'write' });

/** A disk that ends each append when and how it is told. */
function heldJournal() {
  const appends: Array<{ times: number[]; done: () => void; fail: (error: Error) => void }> = [];
  const journal: Pick<ResultsJournal, 'append'> = {
    append: (entries) =>
      new Promise((done, fail) => {
        appends.push({ times: entries.map(({ atMs }) => atMs), done, fail });
      }),
  };
  return { journal, appends };
}

function startWriter() {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { journal, appends } = heldJournal();
  const { log, lines } = recordingLog();
  const writer = createResultsWriter(journal, log);
  return { writer, appends, lines };
}

const nth = <T>(list: T[], index: number): T => {
  const item = list[index];
  if (item === undefined) throw new Error(`there is no number ${index}`);
  return item;
};

test('a lone result is written after 50 ms, and later ones with the next write, not before 250 ms', async () => {
  const { writer, appends } = startWriter();
  const first = writer.add(entry(1));
  await vi.advanceTimersByTimeAsync(49);
  expect(appends).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(nth(appends, 0).times).toEqual([1]);
  const others = [writer.add(entry(2)), writer.add(entry(3))];
  nth(appends, 0).done();
  await first;
  await vi.advanceTimersByTimeAsync(249);
  expect(appends).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(nth(appends, 1).times).toEqual([2, 3]);
  nth(appends, 1).done();
  await Promise.all(others);
});

test('a hundred results are written at once', async () => {
  const { writer, appends } = startWriter();
  const all = Array.from({ length: 100 }, (_, index) => writer.add(entry(index)));
  await vi.advanceTimersByTimeAsync(0);
  expect(nth(appends, 0).times).toHaveLength(100);
  nth(appends, 0).done();
  await Promise.all(all);
});

test('results that a full disk refuses are logged, kept and written later, in order', async () => {
  const { writer, appends, lines } = startWriter();
  const refused = expect(writer.add(entry(1))).rejects.toThrow('no space left');
  await vi.advanceTimersByTimeAsync(50);
  nth(appends, 0).fail(diskFull());
  await refused;
  const later = writer.add(entry(2));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(nth(appends, 1).times).toEqual([1, 2]);
  nth(appends, 1).done();
  await later;
  expect(lines.map(({ msg }) => msg)).toEqual([
    'could not store check results; they are kept in memory',
    'check results can be stored again',
  ]);
});

test('a full disk keeps the newest 10,000, and says how many were lost', async () => {
  const { writer, appends, lines } = startWriter();
  const all = Array.from({ length: 10_250 }, (_, index) => writer.add(entry(index)));
  const settled = Promise.allSettled(all);
  await vi.advanceTimersByTimeAsync(0);
  nth(appends, 0).fail(diskFull());
  await settled;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(nth(appends, 1).times[0]).toBe(250);
  nth(appends, 1).done();
  await vi.advanceTimersByTimeAsync(0);
  expect(lines.find(({ results }) => results === 250)).toMatchObject({
    msg: 'check results were lost while the disk was full',
  });
});

test('results that cannot be written for another reason are lost at once, and do not hold up the rest', async () => {
  const { writer, appends } = startWriter();
  const refused = expect(writer.add(entry(1))).rejects.toThrow('too long');
  await vi.advanceTimersByTimeAsync(50);
  nth(appends, 0).fail(new RangeError('too long'));
  await refused;
  const next = writer.add(entry(2));
  await vi.advanceTimersByTimeAsync(250);
  expect(nth(appends, 1).times).toEqual([2]);
  nth(appends, 1).done();
  await next;
});

test('closing writes the results that wait', async () => {
  const { writer, appends } = startWriter();
  const added = writer.add(entry(1));
  const closed = writer.close();
  await vi.advanceTimersByTimeAsync(0);
  nth(appends, 0).done();
  await Promise.all([added, closed]);
});
