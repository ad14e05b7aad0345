import type { AreaRun, BenchRun } from './bench-run.ts';
import { type Finding, isMet, mediansOf, NOISY_CORES, resultOf } from './finding.ts';
import { figure, tableLines } from './table.ts';

const HEADER = ['measure', 'reference', 'askwatch', 'compared', 'goal', '', 'passes'];

/** The table of an area and what is to be known beside it; `against` is an earlier run. */
export function reportLines(run: AreaRun, against?: BenchRun): string[] {
  const { name, seconds, failure, notes, findings } = run;
  if (failure !== undefined && findings.length === 0) {
    return [`${name} could not be measured. ${failure}`];
  }
  const before = against?.areas.find((area) => area.name === name)?.findings ?? [];
  return [
    `${name}, ${Math.round(seconds)} s`,
    '',
    ...tableLines(
      against ? [...HEADER, 'to then'] : HEADER,
      findings.map((finding) => [
        ...rowOf(finding),
        ...(against ? [changeOf(finding, before)] : []),
      ]),
    ),
    '',
    ...findings.filter(isNoisy).map(noiseNote),
    ...notes,
    ...(failure === undefined ? [] : [`The rest could not be measured. ${failure}`]),
  ];
}

/** How the earlier run is read beside this one, and what makes the two differ that is not the program. */
export function againstLines(now: BenchRun, then: BenchRun): string[] {
  const madeOn = ({ machine, node, quick }: BenchRun) => [
    `${machine.cores} cores of ${machine.model}`,
    `Node ${node}`,
    quick ? 'a quick run' : 'a full run',
  ];
  const was = madeOn(then);
  const different = madeOn(now).flatMap((is, at) =>
    is === was[at] ? [] : [`They do not compare well: ${was[at]} then, ${is} now.`],
  );
  const when = `${then.date}, ${then.commit ?? 'of no known commit'}`;
  return [
    `Then is ${when}. The last column is this run's figure to the one then: what is compared where something is, else Askwatch's own.`,
    ...different,
  ];
}

function rowOf(finding: Finding): string[] {
  const { title, unit, compare, goal, passes } = finding;
  const { askwatch, reference } = mediansOf(finding);
  const isCount = unit === '';
  const inUnit = (value: number) =>
    isCount && Number.isInteger(value) ? String(value) : `${figure(value)} ${unit}`.trimEnd();
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

function changeOf(finding: Finding, before: readonly Finding[]): string {
  const then = before.find(({ name }) => name === finding.name);
  if (!then) return 'new';
  const ratio = resultOf(finding) / resultOf(then);
  return Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : '-';
}
