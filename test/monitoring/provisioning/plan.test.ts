import { describe, expect, test } from 'vitest';
import { type ExistingMonitor, planFor } from '../../../src/monitoring/provisioning/plan.ts';
import { planData, planLines } from '../../../src/monitoring/provisioning/plan-lines.ts';
import { readTexts } from '../../helpers/monitoring/provisioning/read-text.ts';

const NOW = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

const site = (key: string, fields = '') =>
  `  ${key}: {target: "https://x.example/${key}", check_type: HTTP${fields}}`;
const fileOf = (...monitors: string[]) => ['monitors:', ...monitors].join('\n');

async function wantedOf(text: string, env: Record<string, string> = {}) {
  const { monitors, problems } = await readTexts({ 'a.yaml': text }, { env });
  expect(problems).toEqual([]);
  return monitors;
}

/** The stored monitors after a plan was applied. */
async function standingAfter(text: string, env: Record<string, string> = {}) {
  const { steps } = await planFor(await wantedOf(text, env), [], NOW);
  return steps.map((step): ExistingMonitor => {
    if (step.kind !== 'create') throw new Error('not new');
    const { channels, ...declared } = step.declared;
    return {
      ...structuredClone(declared),
      id: step.id,
      isPaused: false,
      ...(channels.length > 0 && { channels: [...channels] }),
    };
  });
}

const planTo = async (text: string, standing: ExistingMonitor[], nowMs = NOW) =>
  await planFor(await wantedOf(text), standing, nowMs);

describe('a plan', () => {
  test('is empty where all is as declared, wherever it stands in the file', async () => {
    const text = fileOf(
      site('a', ', channels: ["slack:C1"], depends_on: [b], tags: [eu]'),
      site('b', ', tags:, runbook:'),
    );
    const standing = await standingAfter(text);
    const plan = await planTo(
      `# moved\n${fileOf(site('b', ', tags: [], runbook: ""'), text.split('\n')[1] ?? '')}`,
      standing,
    );
    expect(plan).toMatchObject({ steps: [], unchanged: 2, question: undefined });
  });

  test('says by field what changes, and nothing of secrets', async () => {
    const text = (token: string) =>
      fileOf(
        site(
          'a',
          `, config: {headers: {Authorization: ${token}, X-Shop: a}, interval_seconds: 60}`,
        ),
        site('b'),
      );
    const standing = await standingAfter(text('swordfish'));
    const lines = planLines(
      await planTo(
        fileOf(
          site('a', ', name: "A", config: {headers: {Authorization: sesame, X-Shop: b}}'),
          site('c'),
          site('b', ', channels: ["slack:C1"], tags: [Shop, eu], runbook: "1. Look\\n2. Call"'),
        ).replace('/a"', '/a?page=2"'),
        standing,
      ),
    );
    expect(lines).toEqual([
      '~ a: change',
      '    name: "a" → "A"',
      '    target: "https://x.example/a" → "https://x.example/a?page=2"',
      '    config.headers.Authorization: secret changed',
      '    config.headers.X-Shop: "a" → "b"',
      '+ c: create HTTP https://x.example/c',
      '~ b: change',
      '    tags: [] → ["eu","shop"]',
      '    runbook: "" → "1. Look\\n2. Call"',
      '    channels: [] → ["slack:C1"]',
      '',
      '1 to create, 2 to change, 0 to take over, 0 to pause, 0 to remove, 0 unchanged',
    ]);
    const plan = await planTo(text('sesame'), standing);
    const onlySecret = planLines(plan);
    expect(onlySecret.slice(0, 2)).toEqual([
      '~ a: change',
      '    config.headers.Authorization: secret changed',
    ]);
    expect(JSON.stringify(planData(plan))).not.toMatch(/swordfish|sesame/);
  });

  test('has counts, steps and what to confirm as JSON', async () => {
    const standing = await standingAfter(
      fileOf(...['a', 'b', 'c', 'd', 'e'].map((key) => site(key))),
    );
    const plan = await planTo(fileOf(site('a', ', name: A'), site('new')), standing);
    const id = expect.stringMatching(/^mon_/);
    expect(planData(plan)).toMatchObject({
      ...{ create: 1, change: 1, takeOver: 0, pause: 4, remove: 0, unchanged: 0 },
      toConfirm: { leaving: 4, of: 5 },
    });
    const target = 'https://x.example/new';
    expect(planData(plan).steps.slice(0, 3)).toEqual([
      {
        ...{ action: 'change', key: 'a', id, name: 'A', resumes: false },
        changes: [{ field: 'name', before: 'a', after: 'A' }],
      },
      { action: 'create', key: 'new', id, name: 'new', checkType: 'HTTP', target },
      { action: 'pause', key: 'b', id, name: 'b' },
    ]);
  });

  test('has the same ids whoever makes it, and others for other kinds', async () => {
    const [a, again] = [
      await standingAfter(fileOf(site('a'))),
      await standingAfter(fileOf(site('a'))),
    ];
    expect(a[0]?.id).toMatch(/^mon_[0-9a-f]{16}$/);
    expect(again[0]?.id).toBe(a[0]?.id);
    const other = await planTo(
      'monitors: {a: {target: "https://x.example/a", check_type: KEYWORD, config: {target_keyword: x}}}',
      a,
    );
    expect(other.steps.map(({ kind }) => kind)).toEqual(['create', 'pause']);
    expect(other.steps[0]?.id).not.toBe(a[0]?.id);
  });

  test('goes on with what a kill left half done', async () => {
    const [a, b] = await standingAfter(fileOf(site('a'), site('b')));
    if (!a?.managedBy || !b?.managedBy) throw new Error('none');
    const left = { ...b, managedBy: { ...b.managedBy, leftAtMs: NOW - HOUR_MS } };
    const notPaused = await planTo(fileOf(site('a')), [a, left]);
    expect(notPaused.steps).toMatchObject([{ kind: 'pause', key: 'b', leftAtMs: NOW - HOUR_MS }]);
    const back = await planTo(fileOf(site('a'), site('b')), [a, { ...b, isPaused: true }]);
    expect(back.steps).toMatchObject([{ kind: 'change', key: 'b', resumes: true, changes: [] }]);
  });

  test('removes after a day and not before, and says when', async () => {
    const [a, b] = await standingAfter(fileOf(site('a'), site('b')));
    if (!a?.managedBy || !b?.managedBy) throw new Error('none');
    const left = { ...b, isPaused: true, managedBy: { ...b.managedBy, leftAtMs: NOW } };
    const early = await planTo(fileOf(site('a')), [a, left], NOW + 24 * HOUR_MS - 1);
    expect(early).toMatchObject({ steps: [], nextRemovalMs: NOW + 24 * HOUR_MS });
    const late = await planTo(fileOf(site('a')), [a, left], NOW + 24 * HOUR_MS);
    expect(late.steps).toMatchObject([{ kind: 'remove', id: b.id }]);
  });

  test.each([
    [5, 3, undefined],
    [5, 2, 3],
    [4, 1, undefined],
    [4, 0, 4],
    [1, 0, 1],
    [10, 5, undefined],
  ])('of %i monitors that become %i asks about %s', async (before, after, leaving) => {
    const some = (count: number) =>
      count === 0
        ? 'monitors: {}'
        : fileOf(...Array.from({ length: count }, (_, at) => site(`k${at}`)));
    const plan = await planTo(some(after), await standingAfter(some(before)));
    expect(plan.question?.leaving).toBe(leaving);
  });

  test('leaves alone what no file ever declared, and what another declares by its id', async () => {
    const [a, b] = await standingAfter(fileOf(site('a'), site('b')));
    if (!a || !b) throw new Error('none');
    const { managedBy: _, ...free } = b;
    expect((await planTo(fileOf(site('a')), [a, free])).steps).toEqual([]);
    // It is declared as `a` already, so that `c` is another one.
    const plan = await planTo(fileOf(site('a'), site('c', `, id: ${a.id}`)), [a, free]);
    expect(plan.steps).toMatchObject([{ kind: 'create', key: 'c' }]);
  });
});
