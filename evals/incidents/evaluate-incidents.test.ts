import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../../test/fakes/model-provider.ts';
import { temporaryFolder } from '../../test/helpers/temporary-folder.ts';
import type { EvalsRequest } from '../arguments.ts';
import { INCIDENT_CASES } from './cases/all.ts';
import { evaluateIncidents } from './evaluate-incidents.ts';
import { carefulModel } from './scripted-model.ts';

/** Two cases over a provider whose judge gives 65. */
async function start() {
  const models = ['scripted', 'judge'].map((id) => ({ id, context_length: 128_000 }));
  const provider = await startModelProvider({ models });
  onTestFinished(() => provider.close());
  provider.answerWith((body) => (body.model === 'judge' ? '65' : carefulModel(body)));
  const out = join(await temporaryFolder(), 'out.json');
  return {
    provider,
    report: () => JSON.parse(readFileSync(out.replace('.json', '.report.json'), 'utf8')),
    async run(change: Partial<EvalsRequest> = {}) {
      const lines: string[] = [];
      const request: EvalsRequest = {
        ...{
          model: 'scripted',
          judge: 'judge',
          tries: 2,
          tags: ['deploy', 'dns'],
          incidents: true,
        },
        gateway: { baseUrl: provider.url, apiKey: provider.apiKey },
        ...{ out, ...change },
      };
      const cases = INCIDENT_CASES.filter(({ id }) => /^(deploy-r|deploy-n|dns-no)/.test(id));
      const folder = await temporaryFolder();
      const print = (line: string) => void lines.push(line);
      return { problems: await evaluateIncidents(cases, request, { folder, print }), lines };
    },
  };
}

test('prints how a model did, all together and by kind of cause, and fails with too few cases', async () => {
  const { run, report } = await start();
  const { lines, problems } = await run();
  expect(lines).toContain('deploy-release, try 1: passed');
  const table = lines.slice(lines.indexOf('') + 1).map((line) => line.split(/ {2,}/));
  expect(table[0]?.slice(0, 8)).toEqual([
    ...['model, kind of cause', 'cases', 'pass^2', 'pass@1', 'cause', 'evidence'],
    ...['false claims', 'judge'],
  ]);
  expect(table.slice(1, 4).map((row) => row.slice(0, 8))).toEqual([
    ['scripted', '3', '3', '100 %', '100 %', '100 %', '0', '65'],
    ['deploy', '2', '2', '100 %', '100 %', '100 %', '0', '65'],
    ['dns', '1', '1', '100 %', '100 %', '100 %', '0', '65'],
  ]);
  expect(lines.at(-1)).toMatch(/^\nThe judge used \d+ tokens\.$/);
  expect(problems).toContain('There are 3 cases of 40 (all).');
  expect(report()).toMatchObject({
    model: 'scripted',
    rows: [{ passedAll: 3, judged: 65 }, {}, {}],
  });
});

test('counts wrong causes and says why a try failed', async () => {
  const { run, provider } = await start();
  provider.answerWith(({ model }) =>
    model === 'judge'
      ? 'It is wrong.'
      : '{"cause":"An overload for 47 minutes","confidence":"high","evidence":[{"fact":"F1"}]}',
  );
  const { lines } = await run({ tries: 1, tags: ['deploy'], only: 'deploy-release' });
  expect(lines[0]).toBe(
    'deploy-release, try 1: failed: “Very likely: An overload for 47 minutes” is not the cause; the evidence has no fact that shows the cause; no look-up returned “47 minutes”',
  );
  expect(lines[3]?.split(/ {2,}/).slice(1, 8)).toEqual(['1', '0', '0 %', '0 %', '0 %', '1', '0']);
});

test('continues an interrupted run, and asks again where the model could not be reached', async () => {
  const { run, provider } = await start();
  provider.failWith({ kind: 'status', status: 500 }, 1);
  const first = await run();
  expect(first.problems.at(-1)).toMatch(/^deploy-release, try 1, could not be run: /);
  const before = provider.calls.length;
  const second = await run();
  expect(second.lines[0]).toBe('deploy-release, try 1: passed');
  // A call of a tool, the conclusion, and the judge.
  expect(provider.calls).toHaveLength(before + 3);
});
