import { expect, test } from 'vitest';
import { type BenchContext, runMeasures, type UnfinishedError } from '../../bench/shared/area.ts';
import { findingOfOne } from '../../bench/shared/finding.ts';

const context = { progress() {}, detail() {} } as unknown as BenchContext;
const found = (name: string, value: number) => [
  findingOfOne({ name, title: name, unit: 's' }, value),
];

test.each([
  ['fails', () => Promise.reject(new Error('No answer came.')), 'No answer came.'],
  ['has no figure', async () => found('broken', Number.NaN), 'There is no figure of broken.'],
])(
  'a measure that %s is named, ends the run, and leaves what was found before',
  async (_how, broken, why) => {
    let went = false;
    const measures = {
      first: async () => found('first', 1),
      broken,
      async last() {
        went = true;
        return found('last', 3);
      },
    };
    const run = runMeasures(context, measures, undefined);
    await expect(run).rejects.toThrow(`broken: ${why}`);
    const error = await run.catch((error: unknown) => error);
    expect((error as UnfinishedError).found).toEqual(found('first', 1));
    expect(went).toBe(false);
  },
);
