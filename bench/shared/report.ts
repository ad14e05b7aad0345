import { type Finding, isMet, mediansOf, NOISY_CORES, resultOf } from './finding.ts';
import { figure, tableLines } from './table.ts';

const HEADER = ['measure', 'reference', 'askwatch', 'compared', 'goal', '', 'passes'];

/** The table of an area, and which of its figures others disturbed. */
export function reportLines(findings: readonly Finding[]): string[] {
  return [
    ...tableLines(HEADER, findings.map(rowOf)),
    '',
    ...findings.filter(isNoisy).map(noiseNote),
  ];
}

function rowOf(finding: Finding): string[] {
  const { title, unit, compare, goal, passes } = finding;
  const { askwatch, reference } = mediansOf(finding);
  const inUnit = (value: number) => `${figure(value)} ${unit}`.trimEnd();
  const written = (value: number) =>
    ({
      ratio: `${value.toFixed(2)}x`,
      added: `${value < 0 ? '' : '+'}${inUnit(value)}`,
      itself: inUnit(value),
    })[compare];
  const own = passes.map((pass) => pass.askwatch);
  return [
    title,
    reference === undefined ? '' : inUnit(reference),
    inUnit(askwatch),
    compare === 'itself' ? '' : written(resultOf(finding)),
    goal ? ('atMost' in goal ? `<= ${written(goal.atMost)}` : `>= ${written(goal.atLeast)}`) : '',
    verdictOf(finding),
    own.length > 1 ? `${figure(Math.min(...own))} to ${figure(Math.max(...own))}` : '',
  ];
}

/** `*` marks noise; where others disturbed most passes, the figure is no verdict, which `?` says. */
function verdictOf(finding: Finding): string {
  const { goal, passes, noisyPasses = 0 } = finding;
  const mark = isNoisy(finding) ? '*' : '';
  const met = isMet(finding);
  if (!goal || met === undefined) return mark;
  const verdict = met ? 'ok' : 'atMost' in goal ? 'over' : 'under';
  return `${mark}${verdict}${noisyPasses > passes.length / 2 ? '?' : ''}`;
}

const isNoisy = ({ noisyPasses = 0 }: Finding) => noisyPasses > 0;

const noiseNote = ({ name, noisyPasses, passes }: Finding) =>
  `* ${name}: others used more than ${NOISY_CORES} cores in ${noisyPasses} of ${passes.length} passes.`;
