import { expect, onTestFinished, test, vi } from 'vitest';
import { BatchWriter } from '../../src/store/batch-writer.ts';
import { recordingLog } from '../helpers/recording-log.ts';

const diskFull = () => Object.assign(new Error('no space left'), { syscall: 'write' });

/** A writer of numbers whose disk takes what `refusing` does not refuse; a batch is of numbers of the same ten. */
function startWriter() {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const disk = { written: [] as number[][], refusing: undefined as Error | undefined };
  const { log, lines } = recordingLog();
  const writer = new BatchWriter<number>({
    append: async (numbers) => {
      if (disk.refusing) throw disk.refusing;
      disk.written.push(numbers);
    },
    batchCount: 4,
    fitsWith: (first, number) => Math.floor(first / 10) === Math.floor(number / 10),
    waitMs: 50,
    betweenMs: 250,
    fullCount: 100,
    keptCount: 10,
    name: 'numbers',
    countedAs: 'numbers',
    log,
  });
  return { writer, disk, lines };
}

test('a batch is of no more records than an append takes, and of those that fit together', async () => {
  const { writer, disk } = startWriter();
  for (const number of [1, 2, 11, 12, 13, 14, 15, 3]) writer.add(number);
  await vi.advanceTimersByTimeAsync(50);
  expect(disk.written).toEqual([[1, 2], [11, 12, 13, 14], [15], [3]]);
  expect(writer.waiting()).toBe(0);
});

test('records beyond the limit are dropped although the disk refuses nothing, and their promises reject', async () => {
  const { writer, disk, lines } = startWriter();
  const outcomes: string[] = [];
  writer.add(1, {
    resolve: () => outcomes.push('stored'),
    reject: (error) => outcomes.push(String(error)),
  });
  for (let number = 2; number <= 1_010; number += 1) writer.add(number);
  expect(outcomes).toEqual(['Error: too many numbers are waiting to be stored']);
  expect(writer.waiting()).toBe(10);
  await writer.close();
  expect(disk.written.flat()).toEqual(Array.from({ length: 10 }, (_, index) => 1_001 + index));
  expect(lines.find(({ numbers }) => numbers === 1_000)).toMatchObject({
    msg: 'numbers were lost while the disk was full',
  });
});

test('records that a full disk refused are written again after a second, in their order', async () => {
  const { writer, disk } = startWriter();
  disk.refusing = diskFull();
  writer.add(1);
  await vi.advanceTimersByTimeAsync(50);
  disk.refusing = undefined;
  writer.add(2);
  await vi.advanceTimersByTimeAsync(999);
  expect(disk.written).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(disk.written).toEqual([[1, 2]]);
});

test('closing logs how many records a full disk refused to the last', async () => {
  const { writer, disk, lines } = startWriter();
  disk.refusing = diskFull();
  for (const number of [1, 2, 3]) writer.add(number);
  await writer.close();
  expect(writer.waiting()).toBe(0);
  expect(lines.map(({ msg }) => msg)).toEqual([
    'could not store numbers; they are kept in memory',
    'numbers were lost while the disk was full',
  ]);
});
