import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const ROOT = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

interface Step {
  name?: string;
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}

interface Job {
  needs?: string | string[];
  permissions: Record<string, string>;
  steps: Step[];
  'timeout-minutes': number;
}

const text = read('.github/workflows/release.yml');
const workflow = parse(text) as {
  on: unknown;
  permissions: unknown;
  concurrency: unknown;
  jobs: Record<string, Job>;
};
const jobs = Object.entries(workflow.jobs);
const steps = jobs.flatMap(([, job]) => job.steps);
const { version, scripts } = JSON.parse(read('package.json')) as {
  version: string;
  scripts: Record<string, string>;
};

test('runs for tags of versions only, and one release at a time', () => {
  expect(workflow.on).toEqual({ push: { tags: ['v*'] } });
  expect(workflow.concurrency).toEqual({ group: 'release', 'cancel-in-progress': false });
});

test('gives each job the permissions that it needs, and no others', () => {
  expect(workflow.permissions).toEqual({});
  expect(jobs.map(([name, { permissions }]) => [name, permissions])).toEqual([
    ['check', { contents: 'read' }],
    ['image', { contents: 'read', packages: 'write' }],
    ['package', { contents: 'read', 'id-token': 'write' }],
  ]);
  expect(text).not.toMatch(/secrets\./);
});

test('pins every action by commit, the same one everywhere, with its version', () => {
  const pinned = [...text.matchAll(/uses: (\S+?)@([0-9a-f]{40}) # v\d+\.\d+\.\d+$/gm)];
  expect(pinned).toHaveLength(steps.filter(({ uses }) => uses).length);
  const commits = new Map(pinned.map(([, action, commit]) => [action, commit]));
  expect(pinned.filter(([, action, commit]) => commits.get(action) !== commit)).toEqual([]);
});

test('keeps no credentials in the checked-out folder', () => {
  const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
  expect(checkouts.map((step) => step.with)).toEqual(
    jobs.map(() => ({ 'persist-credentials': false })),
  );
});

test('publishes nothing before the checks, and the package last', () => {
  const needs = jobs.map(([name, job]) => [name, [job.needs ?? []].flat()]);
  expect(needs).toEqual([
    ['check', []],
    ['image', ['check']],
    ['package', ['check', 'image']],
  ]);
  expect(jobs.filter(([, job]) => !(job['timeout-minutes'] > 0))).toEqual([]);
});

test('runs only scripts and reads only files that exist', () => {
  const commands = steps.flatMap(({ run = '' }) => run.split('\n'));
  const named = commands.flatMap((command) => /npm run (\S+)/.exec(command)?.[1] ?? []);
  expect(named).toEqual(['check']);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
  const files = commands.flatMap(
    (command) => command.match(/\b(?:Dockerfile|package\.json)\b/g) ?? [],
  );
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => !existsSync(new URL(file, ROOT)))).toEqual([]);
});

/** Runs a step as the workflow does: in the repository's folder, for a tag. */
function runStep(name: string, tag: string): number | null {
  const step = steps.find((one) => one.name === name);
  if (!step?.run) throw new Error(`There is no step ${name}.`);
  const options = {
    cwd: fileURLToPath(ROOT),
    env: { PATH: process.env.PATH, GITHUB_REF_NAME: tag },
  };
  return spawnSync('bash', ['-e', '-c', step.run], options).status;
}

test('stops if the tag is not the version in package.json', () => {
  const name = 'Compare the tag with package.json';
  expect(runStep(name, `v${version}`)).toBe(0);
  for (const tag of [version, `v${version}0`, 'v99.0.0', '']) expect(runStep(name, tag)).toBe(1);
});

test('builds the image for two processors, with the list of its parts, from a base with a digest', () => {
  const build = steps.find(({ uses }) => uses?.startsWith('docker/build-push-action@'));
  expect(build?.with).toMatchObject({
    platforms: 'linux/amd64,linux/arm64',
    push: true,
    sbom: true,
    provenance: 'mode=max',
  });
  expect(build?.with?.['build-args']).toMatch(/^NODE_IMAGE=/);
  expect(read('Dockerfile')).toMatch(/^ARG NODE_IMAGE=\S+$/m);
});
