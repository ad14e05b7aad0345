import { expect, test } from 'vitest';
import { type ExistingMonitor, planFor } from '../../../src/monitoring/provisioning/plan.ts';
import { exportDefinitions } from '../../../src/monitoring/provisioning/write-definitions.ts';
import { readTexts } from '../../helpers/monitoring/provisioning/read-text.ts';

const FILE = `
monitors:
  shop:
    name: 'Shop: "the" $\${first}'
    target: https://shop.example/a?token=query-secret&page=1
    check_type: KEYWORD
    config: {target_keyword: Cart, headers: {Authorization: header-secret, Accept: text/html}}
    channels: ["slack:C1"]
    depends_on: [db]
    tags: [shop, eu]
    runbook: |
      1. Look at $\${HOST}

      2. "Restart": all
    maintenance: [{cron: 0 3 * * 0, timezone: Europe/Berlin, duration_minutes: 30}]
  db: {target: db.example, check_type: DNS}
  job: {target: backup, check_type: HEARTBEAT, config: {cron: 0 3 * * *}}
`;

/** Monitors as they stand, which no file declares yet. */
async function standing(): Promise<ExistingMonitor[]> {
  const { monitors, problems } = await readTexts({ 'a.yaml': FILE });
  expect(problems).toEqual([]);
  const { steps } = await planFor(monitors, [], 0);
  return steps.map((step) => {
    if (step.kind !== 'create') throw new Error('not new');
    const { managedBy: _, channels, ...rest } = step.declared;
    return { ...rest, id: step.id, isPaused: false, channels: [...channels] };
  });
}

test('an export declares what there is, without its secrets, and is taken over with nothing changed', async () => {
  const there = await standing();
  const text = exportDefinitions(there);
  expect(text).not.toMatch(/header-secret|query-secret/);
  expect(text).toContain('# Secrets are left out. Set these variables first: ');
  const names = [...text.matchAll(/(?<!\$)\$\{(\w+)\}/g)].map(([, name = '']) => name);
  expect(names).toHaveLength(2);
  expect((await readTexts({ 'b.yaml': text })).problems).toHaveLength(2);
  const env = Object.fromEntries(
    names.map((name) => [name, name.endsWith('TOKEN') ? 'query-secret' : 'header-secret']),
  );
  const { monitors, problems } = await readTexts({ 'b.yaml': text }, { env });
  expect(problems).toEqual([]);
  const { steps } = await planFor(monitors, there, 0);
  expect(
    steps.map((step) => [
      step.kind,
      step.kind === 'change' && step.isAdopted,
      step.kind === 'change' && step.changes.map(({ field }) => field),
    ]),
  ).toEqual(there.map(() => ['change', true, ['file']]));
});

test('an export gives each secret a variable of its own, and all of them come back', async () => {
  const file = `
monitors:
  shop-eu: {target: "https://eu.example/?token=1&token=2", check_type: HTTP, config: {headers: {X-Token: "3", token: "4"}}}
  shop.eu: {target: "https://other.example/?token=5&sig=6&sig=7", check_type: HTTP}`;
  const { monitors } = await readTexts({ 'a.yaml': file });
  const there = monitors.map((monitor, at) => ({ ...monitor, id: `mon_${at}`, isPaused: false }));
  const text = exportDefinitions(there);
  const names = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);
  expect(names).toHaveLength(7);
  expect(new Set(names).size).toBe(7);
  const secrets = ['1', '2', '3', '4', '5', '6', '7'];
  const env = Object.fromEntries(names.map((name, at) => [name, secrets[at]]));
  const again = await readTexts({ 'b.yaml': text }, { env });
  expect(again.problems).toEqual([]);
  expect(again.monitors.map(({ definition }) => definition)).toEqual(
    there.map(({ definition }) => definition),
  );
});

test('an export leaves out what is set by itself, and what left its file', async () => {
  const [, db, job] = await standing();
  if (!db || !job) throw new Error('none');
  const left = { ...job, managedBy: { file: 'a.yaml', line: 1, key: 'job', leftAtMs: 1 } };
  expect(
    exportDefinitions([{ ...db, isPaused: true }, left]),
  ).toBe(`# Askwatch monitors. Set MONITORS_FILE to this file to keep them as declared here.

monitors:
  # This monitor is paused, but a monitor in a file never is: applying this file resumes it.
  db:
    id: ${db.id}
    name: db
    target: db.example
    check_type: DNS
`);
});
