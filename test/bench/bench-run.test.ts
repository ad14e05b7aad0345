import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type AreaRun,
  type BenchRun,
  checkFindings,
  parseRun,
  readRun,
  writtenRun,
} from '../../bench/shared/bench-run.ts';
import type { Finding } from '../../bench/shared/finding.ts';
import { againstLines, reportLines } from '../../bench/shared/report.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const cpu = (figures: number[], changes: Partial<Finding> = {}): Finding => ({
  ...{ name: 'cpu', title: 'CPU per request', unit: 'µs', compare: 'ratio' },
  goal: { atMost: 1.25 },
  passes: figures.map((askwatch) => ({ askwatch, reference: 100 })),
  noisyPasses: 0,
  ...changes,
});
const memory: Finding = {
  ...{ name: 'memory', title: 'memory', unit: 'MiB', compare: 'itself' },
  passes: [{ askwatch: 130 }],
};
const area = (findings: Finding[]): AreaRun => ({
  ...{ name: 'gateway', seconds: 12.4, notes: ['A note.'], findings },
});
const run = (changes: Partial<BenchRun> = {}): BenchRun => ({
  ...{ format: 'askwatch-bench-1', date: '2026-11-25T19:00:00.000Z', commit: 'abc' },
  ...{ node: 'v20.20.2', machine: { cores: 2, model: 'AMD EPYC' }, quick: false },
  areas: [area([cpu([400, 300, 500]), memory])],
  ...changes,
});

/** The cells of the table's row for a measure. */
function cellsOf(lines: readonly string[], title: string) {
  const line = lines.find((one) => one.startsWith(title));
  return line?.split('|').map((cell) => cell.trim());
}

describe('a run as JSON', () => {
  test('is read back as it was, and says the medians and the verdict to others', () => {
    const text = writtenRun(run());
    expect(parseRun(text)).toEqual(run());
    expect(JSON.parse(text).areas[0].findings[0]).toMatchObject({
      ...{ median: { askwatch: 400, reference: 100 }, result: 4, met: false },
    });
  });

  test('is read where npm said what it runs before it', () => {
    const npm = '\n> askwatch@0.1.0 bench\n> node dist/bench/bench.js all --json\n\n';
    expect(parseRun(npm + writtenRun(run()))).toEqual(run());
  });

  test('keeps that an area could not be measured', () => {
    const areas = [{ ...area([]), failure: 'There is no browser.' }];
    expect(parseRun(writtenRun(run({ areas })))).toEqual(run({ areas }));
  });

  test.each([
    ['nothing', '', 'it is no JSON'],
    ['a table', 'gateway, 12 s\n\nmeasure | reference\n', 'it is no JSON'],
    ['the middle of a run', writtenRun(run()).slice(0, 300), 'it is no JSON'],
    ['other JSON', '{"name":"askwatch"}', 'format: Invalid input'],
    [
      'a run without its passes',
      writtenRun(run()).replaceAll('"passes"', '"was"'),
      'areas.0.findings.0.passes: Invalid input',
    ],
  ])('%s is refused', async (name, text, why) => {
    const file = join(await temporaryFolder(), `${name}.json`);
    await writeFile(file, text);
    expect(() => readRun(file)).toThrow(`${file} cannot be used: ${why}`);
  });

  test('is refused where there is no file', () => {
    expect(() => readRun('/none/before.json')).toThrow(
      '--against needs a file that --json wrote, and /none/before.json cannot be used: ENOENT',
    );
  });
});

describe('findings are refused', () => {
  test('findings must have unique names', () => {
    expect(() => checkFindings([memory, memory])).toThrow('Two findings are called memory.');
  });

  test.each([[[]], [[400, Number.NaN, 300]]])('without a figure in each pass', (figures) => {
    expect(() => checkFindings([cpu(figures)])).toThrow('There is no figure of cpu.');
  });
});

describe('the table', () => {
  test('has medians, what is compared, the goal, and the least and most of the passes', () => {
    const lines = reportLines(area([cpu([400, 300, 500]), memory]));
    expect(lines[0]).toBe('gateway, 12 s');
    expect(cellsOf(lines, 'CPU')).toEqual([
      ...['CPU per request', '100 µs', '400 µs', '4.00x', '<= 1.25x', 'over', '300 to 500'],
    ]);
    expect(cellsOf(lines, 'memory')).toEqual(['memory', '', '130 MiB', '', '', '', '']);
    expect(lines).toContain('A note.');
  });

  test('marks what others disturbed, and gives no verdict when it was most passes', () => {
    const lines = (noisyPasses: number) =>
      reportLines(area([cpu([100, 100, 100], { noisyPasses })]));
    expect(cellsOf(lines(0), 'CPU')?.[5]).toBe('ok');
    expect(cellsOf(lines(1), 'CPU')?.[5]).toBe('*ok');
    expect(cellsOf(lines(2), 'CPU')?.[5]).toBe('*ok?');
    expect(lines(2)).toContain('* cpu: others used more than 0.2 cores in 2 of 3 passes.');
  });

  test('says that an area could not be measured, and why', () => {
    expect(reportLines({ ...area([]), failure: 'There is no browser.' })).toEqual([
      'gateway could not be measured. There is no browser.',
    ]);
  });

  test('has what was found before something could not be measured, and says what', () => {
    const lines = reportLines({ ...area([memory]), failure: 'stream: No answer came.' });
    expect(cellsOf(lines, 'memory')?.[2]).toBe('130 MiB');
    expect(lines.at(-1)).toBe('The rest could not be measured. stream: No answer came.');
  });

  test('has the ratio to an earlier run: of what is compared, else of the figure', () => {
    const then = run({
      areas: [area([cpu([800, 800], { passes: [{ askwatch: 800, reference: 400 }] }), memory])],
    });
    const heap: Finding = { ...memory, name: 'heap', title: 'heap' };
    const now = [cpu([100]), { ...memory, passes: [{ askwatch: 65 }] }, heap];
    const lines = reportLines(area(now), then);
    expect(cellsOf(lines, 'measure')?.at(-1)).toBe('to then');
    // Half as much as then beside the reference, though an eighth by itself.
    expect(cellsOf(lines, 'CPU')?.at(-1)).toBe('0.50x');
    expect(cellsOf(lines, 'memory')?.at(-1)).toBe('0.50x');
    expect(cellsOf(lines, 'heap')?.at(-1)).toBe('new');
  });

  test('says what else differs between the two runs', () => {
    expect(againstLines(run(), run())).toHaveLength(1);
    const then = run({ machine: { cores: 8, model: 'Other' }, node: 'v22.0.0', quick: true });
    expect(againstLines(run(), then).slice(1)).toEqual([
      'They do not compare well: 8 cores of Other then, 2 cores of AMD EPYC now.',
      'They do not compare well: Node v22.0.0 then, Node v20.20.2 now.',
      'They do not compare well: a quick run then, a full run now.',
    ]);
  });
});
