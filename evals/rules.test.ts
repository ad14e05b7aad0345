import { expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../test/fakes/model-provider.ts';
import { temporaryFolder } from '../test/helpers/temporary-folder.ts';
import { CASES, CASES_COUNT, missingIn } from './cases/cases.ts';
import { askCase, isNotUnderstood } from './run/ask.ts';
import { grade, outcomeOf } from './run/grade.ts';
import { openWeeks } from './world/week.ts';

test('rules answer most cases rightly, and none wrongly', async () => {
  const provider = await startModelProvider({
    models: [{ id: 'fast-8k', owned_by: 'askwatch', supported_parameters: ['max_tokens'] }],
  });
  const weeks = openWeeks(await temporaryFolder());
  onTestFinished(async () => {
    await weeks.close();
    await provider.close();
  });
  const models = { baseUrl: provider.url, apiKey: provider.apiKey };
  const wrong: string[] = [];
  let [right, notUnderstood] = [0, 0];
  for (const one of CASES) {
    const evidence = await askCase(one, { model: 'fast-8k', models, week: await weeks.fresh() });
    const graded = await grade(one, evidence, undefined);
    const faults = graded.filter(({ verdict }) => verdict === 'no');
    if (outcomeOf(graded) !== 'failed') right += 1;
    else if (isNotUnderstood(evidence.text)) notUnderstood += 1;
    else
      wrong.push(
        [
          `${one.id}: ${one.question}`,
          evidence.text,
          ...faults.map(({ says, why }) => `${says} ${why}`),
        ].join('\n'),
      );
  }
  expect(provider.calls).toEqual([]);
  expect(wrong).toEqual([]);
  expect({ asked: CASES.length, right, notUnderstood }).toEqual({
    asked: 62,
    right: 60,
    notUnderstood: 2,
  });
});

test('there are as many cases as are counted on, each with an id of its own', () => {
  expect(missingIn(CASES)).toEqual([]);
  expect(CASES).toHaveLength(CASES_COUNT.all);
  expect(new Set(CASES.map(({ id }) => id)).size).toBe(CASES.length);
});

test('a case that is taken away is missed', () => {
  expect(missingIn(CASES.slice(1))).toEqual(
    expect.arrayContaining([expect.stringContaining('(all)')]),
  );
  const reads = CASES.filter(({ tags }) => !tags.includes('writes'));
  expect(missingIn(reads)).toEqual(expect.arrayContaining(['There are 0 cases of 6 (writes).']));
});
