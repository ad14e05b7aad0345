import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_CHARACTERS } from '../../src/bot/investigations/investigation-card.ts';
import { toolsByItself } from '../../src/bot/tools/registry.ts';
import { type ModelProvider, startModelProvider } from '../../test/fakes/model-provider.ts';
import { textOf } from '../../test/helpers/bot.ts';
import { CAUSE_KINDS, TEAM_TOOLS } from './case.ts';
import { INCIDENT_CASES, missingIncidents } from './cases/all.ts';
import { causeIn, evidenceIn, gradeInvestigation } from './grade.ts';
import { openInvestigator } from './investigate-case.ts';
import { SECRET_WORD } from './noise.ts';
import { carefulModel, factsIn, resultsIn } from './scripted-model.ts';

const MODEL = 'scripted';

let provider: ModelProvider;
let investigator: Awaited<ReturnType<typeof openInvestigator>>;

beforeAll(async () => {
  provider = await startModelProvider({ models: [{ id: MODEL, context_length: 128_000 }] });
  const models = { baseUrl: provider.url, apiKey: provider.apiKey };
  investigator = await openInvestigator({ model: MODEL, models });
});

afterAll(async () => {
  await investigator.close();
  await provider.close();
});

const READING = [
  ...toolsByItself.map(({ name }) => name),
  ...TEAM_TOOLS.map((name) => `team__${name}`),
];

test.each(INCIDENT_CASES.map((one, index) => [one.id, one, index] as const))(
  'finds the cause of %s, with evidence and no other claims',
  async (_, one, index) => {
    provider.answerWith(carefulModel);
    const { card, requests, serviceRequests, teamCalls } = await investigator.investigate(
      one,
      index,
    );
    const right = { isCauseRight: true, hasEvidence: true, falseClaims: [] };
    expect(gradeInvestigation(one, card), JSON.stringify(requests.at(-1))).toEqual(right);
    expect(textOf(card).length).toBeLessThanOrEqual(MAX_CHARACTERS);
    // Another channel has alerts, notes and postmortems with this word.
    expect(JSON.stringify(requests)).not.toContain(SECRET_WORD);
    const offered = (requests[0]?.tools ?? []) as Array<{ function: { name: string } }>;
    expect(offered.map((tool) => tool.function.name)).toEqual(READING);
    expect(teamCalls).toEqual(Object.keys(one.found ?? {}));
    expect(serviceRequests.filter((request) => !request.startsWith('GET '))).toEqual([]);
  },
);

/** A card that shows a cause, and nothing else. */
const cardOf = (cause: string) => ({ title: `Very likely: ${cause}`, parts: [] });

test.each(INCIDENT_CASES.map((one) => [one.id, one] as const))(
  'takes no other cause for the one of %s',
  (id, one) => {
    const isRight = (cause: string) => gradeInvestigation(one, cardOf(cause)).isCauseRight;
    expect(isRight(one.cause)).toBe(true);
    const others = INCIDENT_CASES.filter(({ kind }) => kind !== one.kind).map(({ cause }) => cause);
    const symptoms = one.monitors.flatMap(({ periods = [] }) =>
      periods.map(({ reason = '' }) => reason),
    );
    // In cases of other kinds, the failure of the check is the cause.
    const isSymptom = ['deploy', 'dependency', 'overload', 'wrong-keyword'].includes(one.kind);
    const wrong = [...others, ...(isSymptom ? symptoms : [])].filter(isRight);
    expect(wrong, id).toEqual([]);
  },
);

test('has five cases of every kind, and fails with fewer', () => {
  expect(missingIncidents(INCIDENT_CASES)).toEqual([]);
  expect(new Set(INCIDENT_CASES.map(({ id }) => id)).size).toBe(INCIDENT_CASES.length);
  expect(missingIncidents(INCIDENT_CASES.slice(1))).toEqual([
    'There are 39 cases of 40 (all).',
    `There are 4 cases of 5 (${CAUSE_KINDS[0]}).`,
  ]);
});

const [RELEASE] = INCIDENT_CASES;
if (!RELEASE) throw new Error('There are no cases.');

/** Investigates the first case with a model that calls a tool and then concludes. */
async function concluded(
  conclusion: object,
  calls: Array<{ name: string; arguments: string }> = [],
) {
  provider.answerWith((body) =>
    calls.length > 0 && resultsIn(body).length === 0
      ? { calls }
      : JSON.stringify({ confidence: 'high', next_step: '', ...conclusion }),
  );
  return await investigator.investigate(RELEASE as NonNullable<typeof RELEASE>, 0);
}

const CAUSE = 'Deployment 4.2.0 of shop-checkout at 11:46 broke it';
const FIND = { name: 'team__find_deployments', arguments: '{"service":"restart the database 17"}' };

test.each<[string, object[], object[]?]>([
  ['an unknown fact', [{ fact: 'F999' }, { fact: 'f1; F2' }]],
  ['a quote that no result contains', [{ fact: 'T1', quote: 'rolled out by Mallory' }], [FIND]],
  ['a quote from a call that was never made', [{ fact: 'T2', quote: '4.2.0' }], [FIND]],
  ['no quote at all', [{ fact: 'T1' }], [FIND]],
])('shows no cause whose evidence is %s', async (_, evidence, calls = []) => {
  const { card } = await concluded({ cause: CAUSE, evidence }, calls as (typeof FIND)[]);
  expect(card.title).toBe('No likely cause found');
  expect(evidenceIn(card)).toEqual([]);
});

test('shows no cause whose evidence is the model’s own input, repeated by a tool', async () => {
  provider.answerWith((body) =>
    resultsIn(body).length === 0
      ? { calls: [FIND] }
      : JSON.stringify({
          cause: 'Somebody had to restart the database 17',
          confidence: 'high',
          evidence: [{ fact: 'T1', quote: 'restart the database 17' }],
        }),
  );
  const { card, requests } = await investigator.investigate(RELEASE, 0, (_, input) =>
    JSON.stringify({ asked: input, entries: [] }),
  );
  expect(JSON.stringify(requests.at(-1))).toContain('asked');
  expect(card.title).toBe('No likely cause found');
});

test('marks figures and names that no look-up returned, and counts them as false claims', async () => {
  const { card } = await concluded({
    cause: 'Warehouse is DOWN, and 73 % of requests failed for 47 minutes since 03:17',
    evidence: [{ fact: 'F1' }],
  });
  expect(textOf(card)).toContain('Not backed by any look-up: “Warehouse”, 73 %, 47 minutes, 03:17');
  expect(gradeInvestigation(RELEASE, card).falseClaims).toEqual([
    '“Warehouse”, 73 %, 47 minutes, 03:17',
  ]);
});

test('grades a cause that the noise suggests as wrong, and as a false claim if it is sure', async () => {
  const wrong = { cause: 'A deployment of shop-checkout-docs 1.14.2', evidence: [{ fact: 'F1' }] };
  const { card } = await concluded(wrong);
  expect(causeIn(card)).toBe(wrong.cause);
  const expected = { isCauseRight: false, hasEvidence: false };
  expect(gradeInvestigation(RELEASE, card)).toEqual({ ...expected, falseClaims: [wrong.cause] });
  const unsure = await concluded({ ...wrong, confidence: 'low' });
  expect(gradeInvestigation(RELEASE, unsure.card)).toEqual({ ...expected, falseClaims: [] });
});

test('knows no cause if the facts that show it are missing', async () => {
  const without = { ...RELEASE, found: { find_deployments: [] } };
  provider.answerWith(carefulModel);
  const { card, requests } = await investigator.investigate(without, 0);
  expect(factsIn(requests[0]).length).toBeGreaterThan(10);
  expect(card.title).toBe('No likely cause found');
});
